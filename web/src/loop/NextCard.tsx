import { useTranslation } from "react-i18next";
import type { LoopView } from "../api/types";
import type { Verb } from "../loops/actions";
import { Countdown, MergedMark } from "../loops/parts";
import { Merged, Play } from "../ui/icons";
import { Button } from "../ui/primitives";
import { StatusShape, canResume } from "../ui/status";
import { MergeLine } from "./MergeLine";
import { canMerge } from "./merge";
import { nextWords } from "./next";
import { phaseWords } from "./phase";
import type { Wish } from "./useFeed";

/** How the loop stands, what happens next and when, and the one thing that a person may do about it. */
export function NextCard({ loop, wish, onAsk }: { loop: LoopView; wish: Wish; onAsk: (verb: Verb) => void }) {
  const { t, i18n } = useTranslation();
  const asksForMerge = loop.status === "completed" && canMerge(loop) && !loop.merge_refused;
  const standing = loop.status === "completed" && loop.outcome ? t(`completed.${loop.outcome}`) : phaseWords(loop, t);
  return (
    <section data-next aria-label={t("overview.next")} className="card flex flex-wrap items-center gap-x-3 gap-y-2 px-3 py-3">
      <StatusShape status={loop.status} outcome={loop.outcome} className="size-6" />
      <div className="min-w-0 grow basis-56">
        <p className="font-semibold break-words">{standing}</p>
        <p className="text-sm text-soft">{t("overview.next_is", { what: nextWords(loop, wish, t, i18n.language) })}{loop.waiting_until ? <> <Countdown until={loop.waiting_until} /></> : null}</p>
        {asksForMerge ? <MergeLine loop={loop} /> : null}
      </div>
      {loop.merged ? <MergedMark merged={loop.merged} /> : null}
      {canResume(loop.status) && !loop.merged ? <Button small tone="accent" onClick={() => onAsk("resume")}><Play className="size-3" />{t("action.resume")}</Button> : null}
      {asksForMerge ? <Button small tone="accent" onClick={() => onAsk("merge")}><Merged className="size-3.5" />{t("action.merge")}</Button> : null}
    </section>
  );
}
