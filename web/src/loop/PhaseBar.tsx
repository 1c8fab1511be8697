import clsx from "clsx";
import { useTranslation } from "react-i18next";
import type { LoopView } from "../api/types";
import type { Verb } from "../loops/actions";
import { Countdown, MergedMark } from "../loops/parts";
import { Check, Cross } from "../ui/icons";
import { Button } from "../ui/primitives";
import { StatusShape, isOpen } from "../ui/status";
import { canMerge } from "./merge";
import { asksForReview, phaseWords } from "./phase";
import type { Wish } from "./useFeed";

/** The one line that says what is going on, and what is asked of a person. */
export function PhaseBar({ loop, wish, onAsk }: { loop: LoopView; wish: Wish; onAsk: (verb: Verb) => void }) {
  const { t } = useTranslation();
  const asks = asksForReview(loop);
  return (
    <footer data-phase-bar className={clsx("flex min-h-10 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-t px-3 py-1 sm:px-4", asks ? "border-ask bg-ask-soft" : "border-line bg-panel")}>
      <StatusShape status={loop.status} outcome={loop.outcome} />
      <span data-phase aria-live="polite" className="min-w-0 grow basis-40 text-sm break-words first-letter:uppercase">{phaseWords(loop, t)}</span>
      {loop.waiting_until ? <span className="rounded bg-wait-soft px-2 py-0.5 text-wait"><Countdown until={loop.waiting_until} /></span> : null}
      {wish && isOpen(loop.status) ? <span data-wish className="rounded bg-ask-soft px-2 py-0.5 text-xs font-medium text-ask">{t(wish === "pause" ? "next.pausing" : "next.stopping")}</span> : null}
      {asks ? (
        <span className="flex gap-2">
          <Button small tone="accent" onClick={() => onAsk("approve")}><Check className="size-3.5" />{t("action.approve")}</Button>
          <Button small tone="danger" onClick={() => onAsk("reject")}><Cross className="size-3.5" />{t("action.reject")}</Button>
        </span>
      ) : null}
      {loop.merged ? <MergedMark merged={loop.merged} /> : null}
      {loop.status === "completed" && canMerge(loop) ? <Button small onClick={() => onAsk("merge")}>{t("action.merge")}</Button> : null}
      {loop.steering.some((message) => !message.delivered) ? <span className="text-xs text-ask">{t("loop.steering_pending", { count: loop.steering.filter((message) => !message.delivered).length })}</span> : null}
    </footer>
  );
}
