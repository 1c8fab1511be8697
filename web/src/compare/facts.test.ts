import { describe, expect, it } from "vitest";
import type { ComparedLoop } from "../api/types";
import { canCompare, gatesOf, idsOf } from "./facts";

describe("a comparison", () => {
  it("counts gates and hidden gates apart", () => {
    const loop = { gates: [{ command: "a", verdict: "pass" }, { command: "b", verdict: null }, { command: "c", verdict: "fail" }, { command: "h", hidden: true, verdict: "pass" }] } as unknown as ComparedLoop;
    expect(gatesOf(loop, false)).toEqual({ passed: 1, pending: 1, count: 3 });
    expect(gatesOf(loop, true)).toEqual({ passed: 1, pending: 0, count: 1 });
    expect(gatesOf({ gates: [] }, false)).toBeNull();
  });
  it("takes each loop of the address once", () => {
    expect(idsOf("a, b,,a")).toEqual(["a", "b"]);
    expect(idsOf(undefined)).toEqual([]);
  });
  it("is of two loops or more, of one project", () => {
    const of = (...projects: string[]) => canCompare(projects.map((project) => ({ project })));
    expect([of("a"), of("a", "a"), of("a", "b"), of(...Array<string>(9).fill("a"))]).toEqual([false, true, false, false]);
  });
});
