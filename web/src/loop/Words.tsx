// What an agent wrote, to be read: its review as a review, the rest as text.

import { useTranslation } from "react-i18next";
import type { TurnView } from "../api/types";
import { ReviewBlock } from "../feed/ReviewBlock";
import { isClosing, isOpening } from "../feed/review";
import { AgentText } from "../ui/AgentText";
import type { Show } from "./LoopPage";
import { useRole } from "./roles";

type Piece = { review: boolean; text: string };

/** The review blocks of a text, and what is between them. */
function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let opening: string | null = null;
  for (const line of text.split("\n")) {
    const last = pieces.at(-1);
    if (opening !== null && last) {
      last.text += `\n${line}`;
      if (isClosing(line, opening)) opening = null;
    } else if (isOpening(line)) {
      opening = line;
      pieces.push({ review: true, text: line });
    } else if (last && !last.review) last.text += `\n${line}`;
    else pieces.push({ review: false, text: line });
  }
  return pieces.filter((piece) => piece.text.trim());
}

export function Words({ text }: { text: string }) {
  return (
    <div className="max-h-96 overflow-auto rounded border border-line bg-sunken py-1.5 text-sm" tabIndex={0}>
      {piecesOf(text).map((piece, index) => (piece.review ? <ReviewBlock key={index} text={piece.text} find={undefined} /> : <div key={index} className="px-2.5"><AgentText text={piece.text} /></div>))}
    </div>
  );
}

/** What the agent of the newest turn said last. */
export function LastWords({ turns, onShow }: { turns: readonly TurnView[]; onShow: Show }) {
  const { t } = useTranslation();
  const role = useRole();
  const last = turns.findLast((turn) => turn.last_words?.trim());
  if (!last?.last_words) return null;
  return (
    <section aria-label={t("overview.last_words")} className="card px-3 py-2.5">
      <div className="mb-1.5 flex flex-wrap items-baseline justify-between gap-2">
        <h2>{t("overview.last_words")} <span className="text-xs font-normal text-soft">{role(last.role)} · {last.agent} · {t("feed.iteration", { number: last.iteration })}</span></h2>
        <button type="button" className="text-xs text-accent underline" onClick={() => onShow("monitor")}>{t("tab.monitor")}</button>
      </div>
      <Words text={last.last_words} />
    </section>
  );
}
