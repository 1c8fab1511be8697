import { describe, expect, it } from "vitest";
import type { LoopView } from "../api/types";
import { canFork, forkBody, forkPoints } from "./fork";

describe("a fork", () => {
  const record = (iteration: number, commit: string | null, undone = false) => ({ iteration, undone, checkpoint: { commit } }) as unknown as LoopView["history"][number];
  it("starts from the base or from an iteration with a commit that was not undone", () => {
    const loop = { branch: "b", base_commit: "c", history: [record(1, "x"), record(2, null), record(3, "y", true), record(4, "z")] };
    expect(forkPoints(loop)).toEqual([0, 1, 4]);
    expect(forkPoints({ ...loop, branch: null })).toEqual([]);
    expect(canFork({ branch: "b", base_commit: null })).toBe(false);
  });
  it("says only what was changed", () => {
    const form = { at: 2, agent: "", model: " ", goal: "", name: "" };
    expect(forkBody(form)).toEqual({ at: 2, settings: {} });
    expect(forkBody({ ...form, agent: "codex", model: "o3", goal: "smaller", name: "second" })).toEqual({ at: 2, goal: "smaller", name: "second", settings: { agent: "codex", model: "o3" } });
  });
});
