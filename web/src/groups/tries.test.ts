import { describe, expect, it } from "vitest";
import type { LoopSummary, TriesView, TryView } from "../api/types";
import { canResumeGroup, comparable, linesOf, nameOf, totalCost, winnerOf } from "./tries";

const NOW = Date.parse("2026-01-20T12:00:10Z");
const one = (number: number, more: object = {}) => ({ number, id: `l${number}`, name: `work-${number}`, status: "running", cost_usd: 1, tokens: 10, elapsed_ms: 1000, iterations: 1, ...more }) as unknown as TryView;
const group = (tries: TryView[], more: object = {}) => ({ tries, winner: null, stopped_at: null, status: "running", ...more }) as unknown as TriesView;
const loop = (id: string, more: object = {}) => ({ id, status: "running", iterations: 3, elapsed_ms: 5000, updated_at: "2026-01-20T12:00:00Z", usage: { input_tokens: 90, output_tokens: 10, reasoning_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, cost_usd: 2.5 }, ...more }) as unknown as LoopSummary;

describe("tries", () => {
  it("move with their loops while the group runs", () => {
    const [first, second] = linesOf(group([one(1), one(2, { status: "waiting to start", tokens: 0, cost_usd: null })]), [loop("l1")], NOW);
    expect(first).toMatchObject({ status: "running", cost: 2.5, tokens: 100, elapsedMs: 15_000, iterations: 3 });
    expect(second).toMatchObject({ status: "waiting to start", loop: undefined, cost: null });
  });
  it("stand as they were compared once the group has ended", () => {
    const [line] = linesOf(group([one(1, { status: "cancelled" })], { stopped_at: "2026-01-20T11:00:00Z" }), [loop("l1")], NOW);
    expect(line).toMatchObject({ status: "cancelled", cost: 1, elapsedMs: 1000 });
    expect(comparable([line!])).toEqual(["l1"]);
  });
  it("cost together what is known, or nothing is said", () => {
    const lines = (tries: TryView[]) => linesOf(group(tries), [], NOW);
    expect(totalCost(lines([one(1), one(2, { cost_usd: 0.5 })]))).toBe(1.5);
    expect(totalCost(lines([one(1), one(2, { cost_usd: null })]))).toBeNull();
    expect(totalCost(lines([one(1), one(2, { cost_usd: null, tokens: 0 })]))).toBe(1);
  });
  it("name the winner, and a paused or interrupted group can be resumed", () => {
    expect(winnerOf(group([one(2), one(1)], { winner: 2 }))?.name).toBe("work-2");
    expect(winnerOf(group([one(1)]))).toBeUndefined();
    expect(nameOf(group([one(1)]), 1)).toBe("work-1");
    expect(["running", "paused", "interrupted", "completed"].filter((status) => canResumeGroup({ status }))).toEqual(["paused", "interrupted"]);
  });
});
