import clsx from "clsx";
import { useTranslation } from "react-i18next";
import type { LoopView } from "../api/types";
import { EventLine } from "../feed/EventLine";
import { clock } from "../lib/format";
import { Check, Clock, Cross } from "../ui/icons";
import { Empty, Loading, Problem } from "../ui/primitives";
import { IterationBody, longestTurn, shownOf, useTimeline } from "../loop/IterationBody";
import type { Show } from "../loop/LoopPage";
import { TimelineGraph } from "./TimelineGraph";

/** The loop as a graph over time, and below it as a line down the page: the newest iteration on top, a knot for each, with its events. */
export default function TimelineTab({ loop, onShow }: { loop: LoopView; onShow: Show }) {
  const { t, i18n } = useTranslation();
  const timeline = useTimeline(loop);
  if (timeline.error && !timeline.data) return <Problem error={timeline.error} onRetry={() => void timeline.refetch()} />;
  if (!timeline.data) return <Loading />;
  const { iterations, before } = timeline.data;
  const early = shownOf(before);
  if (iterations.length === 0 && early.length === 0) return <Empty icon={<Clock />} title={t("timeline.none")} />;
  const longest = longestTurn(iterations);
  return (
    <div className="mx-auto max-w-[110rem] px-2 py-3 sm:px-4">
    <TimelineGraph loop={loop} timeline={timeline.data} onShow={onShow} />
    <ol className="mx-auto max-w-6xl px-2">
      {iterations.toReversed().map((iteration) => {
        const refused = iteration.marks.some((mark) => mark.event.type === "claim_refused" || (mark.event.type === "reviewed" && ["rejected", "dirty"].includes(mark.event.ruling.type)));
        const done = iteration.marks.some((mark) => (mark.event.type === "loop_stopped" && mark.event.outcome === "verified") || (mark.event.type === "reviewed" && ["clean", "accepted"].includes(mark.event.ruling.type)));
        return (
          <li key={iteration.iteration} data-item tabIndex={-1} className="relative border-l-2 border-line pb-4 pl-5">
            <span aria-hidden className={clsx("absolute top-0.5 -left-[9px] flex size-4 items-center justify-center rounded-full border-2", done ? "border-good bg-good text-panel" : refused ? "border-bad bg-panel text-bad" : "border-accent bg-panel")}>{done ? <Check className="size-3" /> : refused ? <Cross className="size-3" /> : null}</span>
            <div className="flex flex-wrap items-baseline gap-x-3">
              <h2>{t("feed.iteration", { number: iteration.iteration })}</h2>
              <time className="figures text-xs text-faint" dateTime={iteration.started_at}>{clock(iteration.started_at, i18n.language)}</time>
              <button type="button" className="text-xs text-accent underline" onClick={() => onShow("diff", { iteration: iteration.iteration })}>{t("tab.diff")}</button>
            </div>
            <IterationBody iteration={iteration} longest={longest} onShow={onShow} />
          </li>
        );
      })}
      {early.length > 0 ? (
        <li data-item tabIndex={-1} className="border-l-2 border-line pb-4 pl-5">
          <h2 className="text-soft">{t("timeline.before")}</h2>
          <div className="-mx-3 mt-1">{early.map((item) => <EventLine key={item.seq} item={item} />)}</div>
        </li>
      ) : null}
    </ol>
    </div>
  );
}
