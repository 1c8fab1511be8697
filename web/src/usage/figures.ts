// What a loop used, iteration by iteration, and how long its limits last at that rate. Pure, so that it can be tried.

import type { LoopView, TurnView, Usage } from "../api/types";
import { elapsedOf, tokensOf } from "../loops/figures";

export const SPLITS = ["role", "model"] as const;
export type Split = (typeof SPLITS)[number];
export const MEASURES = ["cost", "tokens"] as const;
export type Measure = (typeof MEASURES)[number];

export interface Column {
  iteration: number;
  /** By role or by model. */
  parts: ReadonlyMap<string, number>;
  sum: number;
  /** The turns' own time. */
  durationMs: number;
  live: boolean;
}

const valueOf = (usage: Usage, measure: Measure) => (measure === "cost" ? (usage.cost_usd ?? 0) : tokensOf(usage));

/** What a turn used, by its role or by the models that answered. */
const partsOf = (turn: TurnView, split: Split): [string, Usage][] => (split === "model" ? Object.entries(turn.usage_by_model) : turn.usage ? [[turn.role, turn.usage]] : []);

export function columnsOf(turns: readonly TurnView[], split: Split, measure: Measure): Column[] {
  const columns = new Map<number, { parts: Map<string, number>; durationMs: number; live: boolean }>();
  for (const turn of turns) {
    const column = columns.get(turn.iteration) ?? { parts: new Map<string, number>(), durationMs: 0, live: false };
    columns.set(turn.iteration, column);
    for (const [name, usage] of partsOf(turn, split)) {
      const value = valueOf(usage, measure);
      if (value > 0) column.parts.set(name, (column.parts.get(name) ?? 0) + value);
    }
    column.durationMs += turn.duration_ms ?? 0;
    column.live = !turn.ended_at;
  }
  return [...columns].sort(([one], [other]) => one - other).map(([iteration, column]) => ({ iteration, ...column, sum: [...column.parts.values()].reduce((sum, value) => sum + value, 0) }));
}

export type LimitName = "max_iterations" | "budget" | "tokens" | "duration";

export interface Forecast {
  limit: LimitName;
  used: number;
  max: number;
  /** What an iteration has taken of it lately; none before the first has ended. */
  each: number | null;
  /** Iterations that fit into what is left; none if the rate is not known. */
  left: number | null;
}

/** The newest iterations tell more of the next than the oldest. */
const RECENT = 5;
const mean = (values: readonly number[]) => (values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : null);

/** Every limit that is set, the one that is reached first in front. */
export function forecastsOf(loop: LoopView, turns: readonly TurnView[], now: number): Forecast[] {
  const recent = <T>(all: readonly T[]) => all.slice(-RECENT);
  const ended = (measure: Measure) => recent(columnsOf(turns, "role", measure).filter((column) => !column.live && column.iteration > 0));
  const limits: [LimitName, number | null | undefined, number, number | null][] = [
    ["max_iterations", loop.limits.max_iterations, loop.iterations, 1],
    ["budget", loop.limits.budget_usd, loop.usage.cost_usd ?? 0, mean(ended("cost").map((column) => column.sum))],
    ["tokens", loop.limits.max_tokens, tokensOf(loop.usage), mean(ended("tokens").map((column) => column.sum))],
    ["duration", loop.limits.duration_ms, elapsedOf(loop, now), mean(recent(loop.history).map((record) => record.duration_ms))],
  ];
  return limits
    .flatMap(([limit, max, used, each]): Forecast[] => (max ? [{ limit, used, max, each, left: each ? Math.max(0, Math.floor((max - used) / each + 1e-9)) : null }] : []))
    .sort((one, other) => (one.left ?? Number.POSITIVE_INFINITY) - (other.left ?? Number.POSITIVE_INFINITY));
}

/** Round steps for an axis from 0: at most five of them. */
export function stepsUpTo(most: number): number[] {
  if (!(most > 0)) return [0];
  const raw = most / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 2.5, 5, 10].find((each) => each * power >= raw) ?? 10) * power;
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, index) => index * step);
}
