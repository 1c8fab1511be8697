import { describe, expect, it } from "vitest";
import type { MergesEntryView, MergesView } from "../api/types";
import { canMove, canRemove, entryWords, isOpenQueue, moveBody, pausedWords, whyWords } from "./queue";

const t = ((key: string, values: object = {}) => `${key} ${Object.values(values).join(" ")}`.trim()) as never;

describe("the queue of goals", () => {
  it("moves only goals without a loop, and removes none whose loop runs", () => {
    const started = new Set(["l1"]);
    expect([canMove({ id: "l1", status: "waiting" }, started), canMove({ id: "l2", status: "waiting" }, started)]).toEqual([false, true]);
    expect(canMove({ id: "l2", status: "completed" }, started)).toBe(false); // Its loop is not loaded yet, or cleaned up.
    expect(["waiting", "completed", "failed", "running", "rate_limited"].filter((status) => canRemove({ id: "l1", status }, started))).toEqual(["completed", "failed"]);
    expect(canRemove({ id: "l2", status: "waiting" }, started)).toBe(true);
  });
  it("a goal goes before the one it is dropped on when it comes from below, and after it when it comes from above", () => {
    expect(moveBody([1, 2, 3], 3, 1)).toEqual({ before: "1" });
    expect(moveBody([1, 2, 3], 1, 2)).toEqual({ before: "3" });
    expect(moveBody([1, 2, 3], 1, 3)).toEqual({ last: true });
    expect(moveBody([1, 2, 3], 1, 1)).toBeNull();
    expect(moveBody([1, 2, 3], 4, 1)).toBeNull();
  });
  it("says why a goal waits", () => {
    const why = (value: object | null, failed: string | null = null) => whyWords({ why: value as never, failed }, t, "en");
    expect(why({ type: "after", numbers: [1, 2] })).toBe("queue.why_after #1, #2");
    expect(why({ type: "account", account: "claude", running: 2, most: 2 })).toBe("queue.why_account claude 2 2");
    expect(why({ type: "something_new" })).toBe("queue.why_other");
    expect(why(null)).toBeNull();
    expect(why(null, "no such branch")).toBe("no such branch");
  });
});

describe("the merge queue", () => {
  const entry = (more: object) => ({ status: "queued", conflicts: [], refused: null, ...more }) as unknown as MergesEntryView;
  it("says what is wrong with an entry", () => {
    expect(entryWords(entry({ status: "refused", refused: { type: "gate", gate: "npm test", output: "" } }), t)).toBe("merges.refused_gate npm test");
    expect(entryWords(entry({ status: "returned", conflicts: ["a", "b"] }), t)).toBe("merges.conflicts a, b");
    expect(entryWords(entry({}), t)).toBeNull();
  });
  it("says why it is paused, and whether it is open", () => {
    expect(pausedWords({ paused: { type: "target_red", commit: "c", gate: "make", output: "" } } as unknown as MergesView, t)).toBe("merges.paused_target_red make");
    expect(pausedWords({ paused: null }, t)).toBeNull();
    expect([isOpenQueue({ stopped_at: null }), isOpenQueue({ stopped_at: "2026-01-01T00:00:00Z" })]).toEqual([true, false]);
  });
});
