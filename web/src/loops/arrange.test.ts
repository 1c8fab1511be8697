import { describe, expect, it } from "vitest";
import type { LoopSummary } from "../api/types";
import { arrange, stateOf } from "./arrange";
import { totalsSince } from "./figures";

const usage = (cost: number | null, model = "") => ({ input_tokens: 10, output_tokens: 5, cache_read_tokens: 0, cache_write_tokens: 0, cost_usd: cost, by_model: model ? [{ model }] : [], by_role: [] });
function loop(name: string, status: string, more: object = {}): LoopSummary {
  return { id: name, name, goal: "", project: "/a/shop", agent: "claude", recipe: "promise", branch: "b", status, outcome: null, merged: null, verified: false, iterations: 1, claims: { made: 0, refused: 0 }, usage: usage(null), created_at: "2026-01-01T00:00:00Z", last_activity_at: "2026-01-01T00:00:00Z", ...more } as unknown as LoopSummary;
}
const names = (loops: LoopSummary[], view: object) => arrange(loops, view).map((row) => (row.type === "group" ? `[${row.name} ${row.count}/${row.person}]` : row.loop.name));

describe("the list", () => {
  it("puts what failed under what needs a person, after what waits for an answer", () => {
    const all = [loop("done", "completed", { outcome: "verified" }), loop("failed", "errored"), loop("works", "running"), loop("asks", "awaiting_review"), loop("stopped", "cancelled"), loop("spent", "exhausted")];
    expect(names(all, {})).toEqual(["[person 3/3]", "asks", "failed", "spent", "[open 1/0]", "works", "[done 2/0]", "done", "stopped"]);
  });
  it("a failed loop whose work is merged needs nobody", () => {
    expect(stateOf(loop("x", "exhausted", { merged: { target: "main", commit: "c" } }))).toBe("done");
  });
  it("groups by project, and counts what needs a person in each", () => {
    const all = [loop("one", "running"), loop("two", "paused", { project: "/b/notes" }), loop("three", "stalled")];
    expect(names(all, { group: "project" })).toEqual(["[/b/notes 1/1]", "two", "[/a/shop 2/1]", "three", "one"]);
    expect(names(all, { group: "nonsense" })[0]).toBe("[person 2/2]");
  });
  it("sorts by cost, by name and by activity", () => {
    const all = [loop("a", "completed", { usage: usage(1) }), loop("b", "completed", { usage: usage(3) }), loop("c", "completed", { last_activity_at: "2026-02-01T00:00:00Z" })];
    expect(names(all, { sort: "cost" })).toEqual(["[done 3/0]", "b", "a", "c"]);
    expect(names(all, { sort: "name" })).toEqual(["[done 3/0]", "a", "b", "c"]);
    expect(names(all, { sort: "activity" })[1]).toBe("c");
  });
  it("filters by state, status, outcome and merge, and finds models and recipes", () => {
    const all = [loop("a", "completed", { outcome: "verified", merged: { target: "main", commit: "c" } }), loop("b", "completed", { outcome: "claimed" }), loop("c", "running", { usage: usage(1, "opus") })];
    expect(names(all, { status: "verified" })).toEqual(["[done 1/0]", "a"]);
    expect(names(all, { status: "unmerged" })).toEqual(["[done 1/0]", "b"]);
    expect(names(all, { status: "open" })).toEqual(["[open 1/0]", "c"]);
    expect(names(all, { q: "opus" })).toEqual(["[open 1/0]", "c"]);
  });
});

describe("totals of a day", () => {
  it("count the loops that were started since then; an unknown cost is not zero", () => {
    const all = [loop("a", "completed", { verified: true, claims: { made: 3, refused: 2 } }), loop("old", "completed", { created_at: "2025-01-01T00:00:00Z", usage: usage(9) })];
    expect(totalsSince(all, Date.parse("2025-12-31T00:00:00Z"))).toEqual({ loops: 1, cost: null, tokens: 15, verified: 1, refused: 2 });
  });
});
