import { describe, expect, it } from "vitest";
import type { FeedItem } from "../api/types";
import { readReview } from "./review";
import { RowMaker, type TextRow } from "./rows";

const block = (value: unknown) => `\`\`\`windlass-review\n${typeof value === "string" ? value : JSON.stringify(value)}\n\`\`\``;
const bug = { file: "src/a.rs", line: 3, severity: "bug", description: "wrong" };

/** What a pane shows of these pieces, said by this role. */
function rows(pieces: string[], role = "auditor"): [string, string][] {
  const maker = new RowMaker();
  const made = pieces.flatMap((text, index) => maker.make(String(index), { seq: 1, at: "", type: "text", turn: { iteration: 1, role, attempt: 1 }, text } as unknown as FeedItem));
  return (made as TextRow[]).map((row) => [row.kind, row.text]);
}

describe("a review is read as what it means", () => {
  it("an audit, with all of its parts", () => {
    const review = readReview(block({
      findings: [{ ...bug, scenario: "press it" }, { file: "GOAL", severity: "warning", description: "missing" }],
      resolved: ["f1", "b.rs:2"], verdict: "dirty",
      section_summary: { done: ["a", " "], deviations: "none of note" },
      plan_adjustments: [{ section: 2, body: "x", rationale: "y" }],
    }));
    expect(review).toEqual({
      verdict: "dirty", reason: null, resolved: ["f1", "b.rs:2"],
      findings: [{ ...bug, scenario: "press it" }, { file: "GOAL", line: null, severity: "warning", description: "missing", scenario: null }],
      summary: { done: ["a"], deviations: ["none of note"], follow_ups: [] },
      adjustments: [{ section: 2, body: "x", rationale: "y" }],
    });
  });
  it("an acceptance", () => {
    expect(readReview(block({ verdict: "ACCEPTED" }))?.verdict).toBe("accepted");
    expect(readReview(block({ verdict: "rejected", reason: "no tests" }))).toMatchObject({ verdict: "rejected", reason: "no tests" });
  });
  it("no escape and no mark that turns the reading direction is left in it", () => {
    expect(readReview(block({ verdict: "rejected", reason: "\u001b[31mred\u202e" }))?.reason).toBe("red\ufffd");
  });
  it.each([
    ["not JSON", "{\"verdict\": \"dirty\","],
    ["no object", [bug]],
    ["null", "null"],
    ["no verdict", { findings: [] }],
    ["an unknown verdict", { verdict: "good" }],
    ["an unknown key", { verdict: "clean", finding: [] }],
    ["a key of the other kind", { verdict: "clean", reason: "x" }],
    ["a finding without a place", { verdict: "dirty", findings: [{ severity: "bug", description: "x" }] }],
    ["a severity that is none", { verdict: "dirty", findings: [{ ...bug, severity: "<b>" }] }],
    ["a line that is none", { verdict: "dirty", findings: [{ ...bug, line: "3" }] }],
    ["clean with bugs", { verdict: "clean", findings: [bug] }],
  ])("%s is no review", (_, value) => expect(readReview(block(value))).toBeUndefined());
  it("a block that has no end yet is none", () => expect(readReview("```windlass-review\n{\"verdict\": \"clean\"}")).toBeUndefined());
});

describe("a reviewer's block is one row", () => {
  const clean = block({ verdict: "clean" });
  it("between lines of text", () => {
    expect(rows([`I looked.\n${clean}\nDone.\n`])).toEqual([["text", "I looked."], ["review", clean], ["text", "Done."]]);
  });
  it("in whatever pieces it comes", () => {
    const text = `a\n${clean}\nb`;
    for (let size = 1; size < text.length; size += 1) {
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size));
      expect(rows(pieces), `pieces of ${size}`).toEqual([["text", "a"], ["review", clean], ["text", "b"]]);
    }
  });
  it("ends with a fence of its own kind only", () => {
    const long = `~~~~ Windlass-Review\n{"verdict":\n"clean"}\n\`\`\`\n~~~\n~~~~`;
    expect(rows([`${long}\nmore\n`])).toEqual([["review", long], ["text", "more"]]);
  });
  it("not in a coder's words, which may quote one", () => {
    expect(rows([clean], "coder").map(([kind]) => kind)).toEqual(["text", "text", "text"]);
  });
  it("goes on as lines when it is endless", () => {
    const made = rows([`\`\`\`windlass-review\n${"x\n".repeat(40_000)}`]);
    expect(made[0]?.[1].length).toBeLessThanOrEqual(64_000);
    expect(made.at(-1)).toEqual(["text", "x"]);
    expect(rows([`\`\`\`windlass-review\n${"x".repeat(100_000)}\n`])).toHaveLength(51);
  });
});
