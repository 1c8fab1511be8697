import { describe, expect, it } from "vitest";
import type { LoopSummary } from "../api/types";
import { arrange, choicesOf, stateOf, type View } from "./arrange";
import { takes } from "./bulk";
import { elapsedOf, totalsSince } from "./figures";

const usage = (cost: number | null, model = "") => ({ input_tokens: 10, output_tokens: 5, reasoning_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, cost_usd: cost, by_model: model ? [{ model }] : [], by_role: [] });
function loop(name: string, status: string, more: object = {}): LoopSummary {
  return { id: name, name, goal: "", project: "/a/shop", agent: "claude", recipe: "promise", branch: "b", status, outcome: null, merged: null, verified: false, iterations: 1, claims: { made: 0, refused: 0 }, usage: usage(null), created_at: "2026-01-01T00:00:00Z", last_activity_at: "2026-01-01T00:00:00Z", ...more } as unknown as LoopSummary;
}
const NOW = Date.parse("2026-01-20T12:00:00Z");
const names = (loops: LoopSummary[], view: View) => arrange(loops, view, NOW).map((row) => (row.type === "group" ? `[${row.name} ${row.count}/${row.person}]` : row.loop.name));

describe("the list", () => {
  it("puts what failed under what needs a person, after what waits for an answer", () => {
    const all = [loop("done", "completed", { outcome: "verified" }), loop("failed", "errored"), loop("works", "running"), loop("asks", "awaiting_review"), loop("stopped", "cancelled"), loop("spent", "exhausted")];
    expect(names(all, {})).toEqual(["[person 3/3]", "asks", "failed", "spent", "[open 1/0]", "works", "[done 2/0]", "done", "stopped"]);
  });
  it("a failed loop whose work is merged needs nobody", () => {
    expect(stateOf(loop("x", "exhausted", { merged: { target: "main", commit: "c" } }))).toBe("done");
    expect(stateOf(loop("x", "completed", { merge_refused: { target: "main", why: { type: "conflicts", files: ["a"] } } }))).toBe("person");
  });
  it("groups by project, and counts what needs a person in each", () => {
    const all = [loop("one", "running"), loop("two", "paused", { project: "/b/notes" }), loop("three", "stalled")];
    expect(names(all, { group: "project" })).toEqual(["[/b/notes 1/1]", "two", "[/a/shop 2/1]", "three", "one"]);
    expect(names(all, { group: "nonsense" })[0]).toBe("[person 2/2]");
  });
  it("groups tries of one goal, the newest group first, single loops last", () => {
    const tryOf = (name: string, id: string, number: number, created = "2026-01-01T00:00:00Z") => loop(name, "completed", { group: { id, name: id, kind: "tries", number }, created_at: created });
    const all = [loop("alone", "running"), tryOf("old-1", "old", 1), tryOf("new-2", "new", 2, "2026-02-01T00:00:00Z"), tryOf("new-1", "new", 1, "2026-02-01T00:00:00Z")];
    expect(names(all, { group: "tries" })).toEqual(["[new 2/0]", "new-1", "new-2", "[old 1/0]", "old-1", "[ 1/0]", "alone"]);
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
  it("filters by agent, reviewer, model, recipe and start, which together are the view", () => {
    const all = [
      loop("a", "errored", { agent: "codex", created_at: "2026-01-20T11:00:00Z", usage: usage(1, "opus") }),
      loop("b", "completed", { review: { reviewer: "codex" }, recipe: "audited", created_at: "2026-01-15T00:00:00Z" }),
      loop("c", "completed", { usage: usage(1, "haiku") }),
    ];
    expect(names(all, { agent: "codex" })).toEqual(["[person 1/1]", "a", "[done 1/0]", "b"]);
    expect(names(all, { agent: "codex", recipe: "audited" })).toEqual(["[done 1/0]", "b"]);
    expect(names(all, { model: "haiku" })).toEqual(["[done 1/0]", "c"]);
    expect(names(all, { since: "7" })).toEqual(["[person 1/1]", "a", "[done 1/0]", "b"]);
    expect(names(all, { since: "today", status: "failed" })).toEqual(["[person 1/1]", "a"]);
    expect(names(all, { since: "soon" })).toHaveLength(5);
    expect(choicesOf(all)).toEqual({ project: ["/a/shop"], agent: ["claude", "codex"], recipe: ["audited", "promise"], model: ["haiku", "opus"] });
  });
});

describe("totals of a day", () => {
  it("count the loops that were started since then; an unknown cost is not zero", () => {
    const all = [loop("a", "completed", { verified: true, claims: { made: 3, refused: 2 } }), loop("old", "completed", { created_at: "2025-01-01T00:00:00Z", usage: usage(9) })];
    expect(totalsSince(all, Date.parse("2025-12-31T00:00:00Z"))).toEqual({ loops: 1, cost: null, tokens: 15, verified: 1, failed: 0, refused: 2 });
    expect(totalsSince([loop("b", "stalled"), loop("c", "errored")], 0).failed).toBe(2);
  });
  it("time goes on only while a loop works", () => {
    const clock = { elapsed_ms: 1000, updated_at: "2026-01-20T11:59:50Z" };
    expect(elapsedOf({ ...clock, status: "running" }, NOW)).toBe(11_000);
    expect(elapsedOf({ ...clock, status: "paused" }, NOW)).toBe(1000);
  });
});

describe("many loops at once", () => {
  const verbs = (status: string, more: object = {}) => (["pause", "resume", "stop", "clean"] as const).filter((verb) => takes(loop("x", status, more), verb));
  it("each takes only what fits how it stands", () => {
    expect(verbs("running")).toEqual(["pause", "stop"]);
    expect(verbs("paused")).toEqual(["resume", "stop"]);
    expect(verbs("completed", { worktree: "/w" })).toEqual(["clean"]);
    expect(verbs("completed")).toEqual([]);
    expect(verbs("exhausted", { worktree: "/w" })).toEqual(["resume", "clean"]);
  });
});
