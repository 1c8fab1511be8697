// What the comparison of tries says, joined with what is known of their loops right now.

import type { LoopSummary, TriesView, TryView } from "../api/types";
import { elapsedOf, tokensOf } from "../loops/figures";

/** One line of the table. Amounts move with the loop while it runs. */
export interface Line {
  each: TryView;
  /** None before it started, or after its record was removed. */
  loop: LoopSummary | undefined;
  status: string;
  cost: number | null;
  tokens: number;
  elapsedMs: number;
  iterations: number;
}

export function linesOf(group: TriesView, loops: readonly LoopSummary[], now: number): Line[] {
  return group.tries.map((each) => {
    const loop = loops.find((one) => one.id === each.id);
    // After the choice, the group's own record counts: a person may go on with a loop.
    if (!loop || group.stopped_at) return { each, loop, status: each.status, cost: each.cost_usd, tokens: each.tokens, elapsedMs: each.elapsed_ms, iterations: each.iterations };
    return { each, loop, status: loop.status, cost: loop.usage.cost_usd ?? null, tokens: tokensOf(loop.usage), elapsedMs: elapsedOf(loop, now), iterations: loop.iterations };
  });
}

/** What all tries cost together; none if a part of it is unknown. */
export function totalCost(lines: readonly Line[]): number | null {
  const spent = lines.filter((line) => line.tokens > 0);
  return spent.every((line) => line.cost !== null) ? spent.reduce((sum, line) => sum + (line.cost ?? 0), 0) : null;
}

export const winnerOf = (group: TriesView) => group.tries.find((each) => each.number === group.winner);
export const nameOf = (group: TriesView, number: number) => group.tries.find((each) => each.number === number)?.name ?? String(number);

export const canStop = (group: Pick<TriesView, "stopped_at">) => !group.stopped_at;
export const canResumeGroup = (group: Pick<TriesView, "status">) => group.status === "paused" || group.status === "interrupted";

/** Loops that can be compared: those that there are. */
export const comparable = (lines: readonly Line[]) => lines.filter((line) => line.loop).map((line) => line.each.id);
