import { describe, expect, it } from "vitest";
import type { LoopView, Timeline } from "../api/types";
import { baseGates, cellsOf, homeBranch, lastLines, refusalOf } from "./story";

let seq = 0;
const mark = (event: object) => ({ at: "", seq: (seq += 1), event });
const gate = (iteration: number, verdict: string, output = "") => mark({ type: "gate_ended", counts: true, gate: { iteration, index: 0, attempt: 1 }, report: { command: "make test", verdict, exit_code: 2, output_tail: output, duration_ms: 5, tree: "t", commit: null, changed: [] } });
const iteration = (number: number, marks: object[]) => ({ iteration: number, started_at: "", turns: [{ usage: { cost_usd: 0.5 }, claim: true }], marks });
const record = (number: number, more: object = {}) => ({ iteration: number, checkpoint: { created: true, files_changed: 2, agent_commits: [] }, gates: ["fail"], claim: true, undone: false, duration_ms: 10, ...more });
const timeline = (iterations: object[], before: object[] = []) => ({ before, iterations }) as unknown as Timeline;
const loop = (more: object) => ({ iterations: 2, status: "exhausted", outcome: null, history: [record(1), record(2)], ...more }) as unknown as LoopView;

const REFUSED = [gate(1, "fail", "first"), mark({ type: "claim_refused", iteration: 1, because: { type: "gates", failing: ["make test"] } })];
const AGAIN = [gate(2, "pass"), gate(2, "fail", "second"), mark({ type: "claim_refused", iteration: 2, because: { type: "gates", failing: ["make test"] } })];

describe("the overview", () => {
  it("tells refused, undone, unchanged, accepted and running iterations apart", () => {
    const story = timeline([iteration(1, REFUSED), iteration(2, [])]);
    expect(cellsOf(loop({ status: "running" }), story).map((cell) => cell.verdict)).toEqual(["refused", "running"]);
    expect(cellsOf(loop({ outcome: "verified", status: "completed" }), story).map((cell) => cell.verdict)).toEqual(["refused", "accepted"]);
    expect(cellsOf(loop({ history: [record(1, { undone: true }), record(2, { gates: [], checkpoint: { created: false, files_changed: 0 } })] }), story).map((cell) => cell.verdict)).toEqual(["undone", "unchanged"]);
    expect(cellsOf(loop({}), story)[0]).toMatchObject({ files: 2, cost: 0.5, claim: true, gates: ["fail"] });
  });
  it("shows the newest refusal with the last report of each failing gate, until something was accepted", () => {
    const story = timeline([iteration(1, REFUSED), iteration(2, AGAIN)]);
    const refusal = refusalOf(story, cellsOf(loop({}), story));
    expect(refusal?.iteration).toBe(2);
    expect(refusal?.gates.map((report) => report.output_tail)).toEqual(["second"]);
    const accepted = timeline([iteration(1, REFUSED), iteration(2, [gate(2, "pass")])]);
    expect(refusalOf(accepted, cellsOf(loop({ status: "completed", outcome: "verified" }), accepted))).toBeNull();
  });
  it("a reviewer's open findings refuse as well", () => {
    const story = timeline([iteration(1, [mark({ type: "reviewed", turn: {}, ruling: { type: "dirty", open: ["F1", "F2"] } })])]);
    expect(refusalOf(story, cellsOf(loop({ iterations: 1 }), story))).toMatchObject({ because: null, open: 2 });
  });
  it("reads the gates on the base and the branch the loop started from", () => {
    const story = timeline([], [mark({ type: "workspace_opened", opening: { handle: { home: { branch: "main" } } } }), gate(0, "fail")]);
    expect(baseGates(story).get("make test")).toBe("fail");
    expect(homeBranch(story)).toBe("main");
    expect(homeBranch(timeline([], [mark({ type: "workspace_opened", opening: { handle: null } })]))).toBeNull();
  });
  it("cuts an output to its last lines", () => {
    expect(lastLines("a\nb\nc\n\n", 2)).toEqual({ lines: "b\nc", cut: true });
    expect(lastLines("a\n", 2)).toEqual({ lines: "a", cut: false });
  });
});
