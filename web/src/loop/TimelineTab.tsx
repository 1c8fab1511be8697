import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { useTranslation } from "react-i18next";
import { get } from "../api/client";
import type { FeedItem, LoopView, Timeline, TurnView } from "../api/types";
import { EventLine } from "../feed/EventLine";
import { isShown } from "../feed/rows";
import { clock, duration, money, short } from "../lib/format";
import { Check, Clock, Cross, Flag } from "../ui/icons";
import { Empty, Loading, Problem } from "../ui/primitives";
import type { Show } from "./LoopPage";
import { useRole } from "./roles";

/** The loop as a line down the page: an iteration is a knot, its turns are bars as long as they took. */
export default function TimelineTab({ loop, onShow }: { loop: LoopView; onShow: Show }) {
  const { t, i18n } = useTranslation();
  const timeline = useQuery({ queryKey: ["loop", loop.id, "timeline"], queryFn: ({ signal }) => get<Timeline>(`/api/loops/${encodeURIComponent(loop.id)}/iterations`, signal) });
  if (timeline.error && !timeline.data) return <Problem error={timeline.error} onRetry={() => void timeline.refetch()} />;
  if (!timeline.data) return <Loading />;
  const { iterations, before } = timeline.data;
  const early = shownOf(before);
  if (iterations.length === 0 && early.length === 0) return <Empty icon={<Clock />} title={t("timeline.none")} />;
  const longest = Math.max(1, ...iterations.flatMap((iteration) => iteration.turns.map((turn) => turn.duration_ms ?? 0)));
  return (
    <ol className="mx-auto max-w-6xl px-4 py-3 sm:px-6">
      {early.length > 0 ? (
        <li data-item tabIndex={-1} className="border-l-2 border-line pb-4 pl-5">
          <h2 className="text-soft">{t("timeline.before")}</h2>
          <div className="-mx-3 mt-1">{early.map((item) => <EventLine key={item.seq} item={item} />)}</div>
        </li>
      ) : null}
      {iterations.map((iteration) => {
        const refused = iteration.marks.some((mark) => mark.event.type === "claim_refused" || (mark.event.type === "reviewed" && ["rejected", "dirty"].includes(mark.event.ruling.type)));
        const done = iteration.marks.some((mark) => (mark.event.type === "loop_stopped" && mark.event.status === "completed") || (mark.event.type === "reviewed" && ["clean", "accepted"].includes(mark.event.ruling.type)));
        return (
          <li key={iteration.iteration} data-item tabIndex={-1} className="relative border-l-2 border-line pb-4 pl-5">
            <span aria-hidden className={clsx("absolute top-0.5 -left-[9px] flex size-4 items-center justify-center rounded-full border-2", done ? "border-good bg-good text-panel" : refused ? "border-bad bg-panel text-bad" : "border-accent bg-panel")}>{done ? <Check className="size-3" /> : refused ? <Cross className="size-3" /> : null}</span>
            <div className="flex flex-wrap items-baseline gap-x-3">
              <h2>{t("feed.iteration", { number: iteration.iteration })}</h2>
              <time className="figures text-xs text-faint" dateTime={iteration.started_at}>{clock(iteration.started_at, i18n.language)}</time>
              <button type="button" className="text-xs text-accent underline" onClick={() => onShow("diff", { iteration: iteration.iteration })}>{t("tab.diff")}</button>
            </div>
            <ul className="mt-1 space-y-1">
              {iteration.turns.map((turn) => <Turn key={turn.turn} turn={turn} longest={longest} onShow={onShow} />)}
            </ul>
            <div className="-mx-3 mt-1">
              {shownOf(iteration.marks).map((item) => <EventLine key={item.seq} item={item} />)}
            </div>
          </li>
        );
      })}
    </ol>
  );
}

function shownOf(marks: Timeline["before"]): FeedItem[] {
  return marks.map((mark) => ({ ...mark.event, seq: mark.seq, at: mark.at })).filter(isShown);
}

function Turn({ turn, longest, onShow }: { turn: TurnView; longest: number; onShow: Show }) {
  const { t } = useTranslation();
  const role = useRole();
  const outcome = turn.outcome && turn.outcome.type !== "finished" ? turn.outcome.type : undefined;
  const failed = outcome === "failed" || outcome === "not_started";
  const tokens = turn.usage ? turn.usage.input_tokens + turn.usage.output_tokens : 0;
  return (
    <li className="text-xs">
      <div className="flex flex-wrap items-baseline gap-x-2">
        <span className="font-medium">{role(turn.role)}</span>
        <span className="text-soft">{turn.agent}{turn.model ? ` · ${turn.model}` : ""}{turn.attempt > 1 ? ` · ${t("timeline.attempt", { number: turn.attempt })}` : ""}</span>
        <span className="figures text-soft">{turn.duration_ms == null ? t("timeline.under_way") : duration(turn.duration_ms)}{tokens > 0 ? ` · ${t("loop.tokens", { tokens: short(tokens) })}` : ""}{turn.usage?.cost_usd != null ? ` · ${money(turn.usage.cost_usd)}` : ""}</span>
        {turn.claim ? <span className="inline-flex items-center gap-1 self-center font-medium text-ask"><Flag className="size-3" />{t("timeline.claim")}</span> : null}
        {outcome ? <span className={clsx("font-medium", failed ? "text-bad" : "text-wait")}>{t(`outcome.${outcome}`)}</span> : null}
        <button type="button" className="text-accent underline" onClick={() => onShow("prompts", { turn: turn.turn })}>{t("tab.prompts")}</button>
        <button type="button" className="text-accent underline" onClick={() => onShow("raw", { turn: turn.turn })}>{t("tab.raw")}</button>
      </div>
      <div aria-hidden className={clsx("mt-1 h-1 rounded-full", failed ? "bg-bad" : turn.ended_at ? (["auditor", "acceptor"].includes(turn.role) ? "bg-ask" : "bg-accent") : "breathe bg-run")} style={{ width: `${turn.duration_ms == null ? 100 : Math.max(1, (turn.duration_ms / longest) * 100)}%` }} />
    </li>
  );
}
