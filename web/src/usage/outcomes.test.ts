import { describe, expect, it } from "vitest";
import type { OutcomeRow } from "../api/types";
import { sharesOf, sinceOf } from "./outcomes";

describe("outcomes", () => {
  it("have their counts beside every share, and no share of nothing", () => {
    const row = { verified: 2, ended: 3, claims: 8, claims_refused: 2, reviewed: 4, changed_by_reviewer: 1, forked: 0, first_won: 0 } as unknown as OutcomeRow;
    expect(sharesOf(row)).toEqual({ verified: { part: 2, of: 3, percent: 67 }, refused: { part: 2, of: 8, percent: 25 }, reviewed: { part: 1, of: 4, percent: 25 }, first: { part: 0, of: 0, percent: null } });
  });
  it("are of loops since midnight of that day, or of all", () => {
    const now = new Date(2026, 0, 20, 15, 30).getTime();
    expect(sinceOf(0, now)).toBe(new Date(2026, 0, 20).toISOString());
    expect(sinceOf(null, now)).toBeUndefined();
  });
});
