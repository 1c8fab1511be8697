import { useTranslation } from "react-i18next";
import { plain } from "../feed/ansi";
import { money, short } from "../lib/format";
import type { Show } from "../loop/LoopPage";
import { pauseWords, waitWords } from "../loop/phase";
import { useRole } from "../loop/roles";
import { Words } from "../loop/Words";
import { tokensOf } from "../loops/figures";
import { Cross } from "../ui/icons";
import { IconButton } from "../ui/primitives";
import type { About, Bar } from "./graph";
import { useBarWords } from "./TimelineGraph";

/** What a bar stands for, in the words of whoever did it. */
export function BarDetails({ bar, onShow, onClose }: { bar: Bar; onShow: Show; onClose: () => void }) {
  const { t } = useTranslation();
  const words = useBarWords();
  return (
    <div data-bar-details className="mt-2 border-t border-line pt-2 text-sm">
      <div className="flex items-center gap-2"><p className="min-w-0 font-medium break-words">{words(bar)}</p><IconButton small label={t("action.close")} className="ml-auto" onClick={onClose}><Cross className="size-3.5" /></IconButton></div>
      <Body about={bar.about} onShow={onShow} />
    </div>
  );
}

function Body({ about, onShow }: { about: About; onShow: Show }) {
  const { t } = useTranslation();
  const role = useRole();
  switch (about.type) {
    case "turn": {
      const { turn } = about;
      const figures = [turn.agent, turn.model, turn.usage && tokensOf(turn.usage) > 0 ? t("loop.tokens", { tokens: short(tokensOf(turn.usage)) }) : null, turn.usage?.cost_usd == null ? null : money(turn.usage.cost_usd), turn.claim ? t("timeline.claim") : null, turn.outcome && turn.outcome.type !== "finished" ? t(`outcome.${turn.outcome.type}`) : null];
      return (
        <>
          <p className="figures mb-1 flex flex-wrap gap-x-3 text-xs text-soft">
            <span>{figures.filter(Boolean).join(" · ")}</span>
            <button type="button" className="text-accent underline" onClick={() => onShow("prompts", { turn: turn.turn })}>{t("tab.prompts")}</button>
            <button type="button" className="text-accent underline" onClick={() => onShow("raw", { turn: turn.turn })}>{t("tab.raw")}</button>
            <button type="button" className="text-accent underline" onClick={() => onShow("diff", { iteration: turn.iteration })}>{t("tab.diff")}</button>
          </p>
          {turn.last_words?.trim() ? <Words text={turn.last_words} /> : <p className="text-xs text-soft">{t("feed.nothing")}</p>}
        </>
      );
    }
    case "gate": {
      const text = about.report.output_tail.trimEnd().split("\n").map(plain).join("\n");
      return (
        <>
          <p className="mb-1 text-xs text-soft">{about.iteration === 0 ? t("feed.on_base") : t("feed.iteration", { number: about.iteration })}{about.report.exit_code == null ? "" : ` · ${t("overview.exit_code", { code: about.report.exit_code })}`}</p>
          {text.trim() ? <pre tabIndex={0} aria-label={t("overview.output_of", { command: about.report.command })} className="output max-h-72 overflow-auto rounded border border-line bg-sunken px-2 py-1.5">{text}</pre> : <p className="text-xs text-soft">{t("overview.no_output")}</p>}
        </>
      );
    }
    case "wait":
      return <p className="text-soft">{about.why ? waitWords(about.why, role, t) : t("phase.queued")}</p>;
    case "pause":
      return <p className="text-soft">{about.why ? pauseWords(about.why, t) : t("status.paused")}</p>;
  }
}
