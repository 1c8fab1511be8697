import { describe, expect, it } from "vitest";
import type { LoopView, TurnView } from "../api/types";
import { columnsOf, forecastsOf, stepsUpTo } from "./figures";

const used = (cost: number) => ({ input_tokens: 100, output_tokens: 0, reasoning_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, cost_usd: cost });
const turn = (iteration: number, role: string, cost: number, more: { ended_at?: null; model?: string } = {}): TurnView => ({ iteration, role, duration_ms: 1000, ended_at: "2026-01-01T00:00:00Z", usage: used(cost), usage_by_model: { [more.model ?? "opus"]: used(cost) }, ...more }) as unknown as TurnView;
const loopWith = (limits: object, cost: number): LoopView => ({ status: "paused", elapsed_ms: 60_000, updated_at: "2026-01-01T00:00:00Z", iterations: 2, history: [{ duration_ms: 30_000 }, { duration_ms: 30_000 }], limits, usage: { input_tokens: 400, output_tokens: 0, reasoning_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, cost_usd: cost } }) as unknown as LoopView;

describe("usage by iteration", () => {
  it("is stacked by role or model", () => {
    const turns = [turn(1, "coder", 1), turn(1, "auditor", 0.5, { model: "haiku" }), turn(2, "coder", 2, { ended_at: null })];
    expect(columnsOf(turns, "role", "cost").map((column) => [column.iteration, [...column.parts], column.sum, column.live])).toEqual([[1, [["coder", 1], ["auditor", 0.5]], 1.5, false], [2, [["coder", 2]], 2, true]]);
    expect([...(columnsOf(turns, "model", "tokens")[0]?.parts ?? [])]).toEqual([["opus", 100], ["haiku", 100]]);
  });
});

describe("forecast", () => {
  it("says how many iterations each limit lasts, the nearest first", () => {
    const turns = [turn(1, "coder", 1), turn(2, "coder", 1)];
    const found = forecastsOf(loopWith({ max_iterations: 10, budget_usd: 5, duration_ms: 3_600_000 }, 2), turns, 0).map(({ limit, left }) => [limit, left]);
    expect(found).toEqual([["budget", 3], ["max_iterations", 8], ["duration", 118]]);
  });
  it("claims nothing before an iteration has ended", () => {
    expect(forecastsOf(loopWith({ budget_usd: 5 }, 0), [turn(1, "coder", 1, { ended_at: null })], 0)).toEqual([{ limit: "budget", used: 0, max: 5, each: null, left: null }]);
  });
});

it("an axis has few round steps", () => {
  expect(stepsUpTo(0.9)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(stepsUpTo(7)).toEqual([0, 2, 4, 6, 8]);
  expect(stepsUpTo(0)).toEqual([0]);
});
