import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { useTranslation } from "react-i18next";
import { get } from "../api/client";
import type { FeedItem, IterationView, LoopView, Timeline, TurnView } from "../api/types";
import { EventLine } from "../feed/EventLine";
import { isShown } from "../feed/rows";
import { duration, money, short } from "../lib/format";
import { Flag } from "../ui/icons";
import type { Show } from "./LoopPage";
import { useRole } from "./roles";

export function useTimeline(loop: Pick<LoopView, "id">) {
  return useQuery({ queryKey: ["loop", loop.id, "timeline"], queryFn: ({ signal }) => get<Timeline>(`/api/loops/${encodeURIComponent(loop.id)}/iterations`, signal) });
}

export const longestTurn = (iterations: readonly IterationView[]) => Math.max(1, ...iterations.flatMap((iteration) => iteration.turns.map((turn) => turn.duration_ms ?? 0)));

/** What happened in an iteration: its turns as bars as long as they took, then its events. */
export function IterationBody({ iteration, longest, onShow }: { iteration: IterationView; longest: number; onShow: Show }) {
  return (
    <>
      <ul className="mt-1 space-y-1">
        {iteration.turns.map((turn) => <Turn key={turn.turn} turn={turn} longest={longest} onShow={onShow} />)}
      </ul>
      <div className="-mx-3 mt-1">
        {shownOf(iteration.marks).map((item) => <EventLine key={item.seq} item={item} />)}
      </div>
    </>
  );
}

export function shownOf(marks: Timeline["before"]): FeedItem[] {
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
