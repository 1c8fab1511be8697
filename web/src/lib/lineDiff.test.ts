import { describe, expect, it } from "vitest";
import { below, besides, lineDiff, shortened } from "./lineDiff";

const short = (before: string, after: string) => lineDiff(before, after).map((line) => `${{ same: " ", add: "+", remove: "-" }[line.type]}${line.text}`);

describe("what changed between two prompts", () => {
  it("keeps common lines, wherever they are", () => {
    expect(short("a\nb\nc\nd", "a\nx\nc\ny\nd")).toEqual([" a", "-b", "+x", " c", "+y", " d"]);
    expect(short("", "a")).toEqual(["-", "+a"]);
    expect(short("same\ntext", "same\ntext")).toEqual([" same", " text"]);
  });
  it("cuts what did not change to a number", () => {
    const long = Array.from({ length: 50 }, (_, index) => `line ${index}`);
    const runs = shortened(lineDiff(long.join("\n"), [...long.slice(0, 20), "new", ...long.slice(20)].join("\n")), 2);
    expect(runs.map((run) => (run.type === "skipped" ? run.count : run.lines.length))).toEqual([18, 5, 28]);
  });
  it("puts lines that replace each other beside each other, each with its number", () => {
    const beside = besides(shortened(lineDiff("a\nb\nc\nd", "a\nx\ny\nc\nd")));
    expect(beside).toEqual([{ type: "pairs", pairs: [{ before: { text: "a", at: 0 }, after: { text: "a", at: 0 } }, { before: { text: "b", at: 1 }, after: { text: "x", at: 1 } }, { after: { text: "y", at: 2 } }, { before: { text: "c", at: 2 }, after: { text: "c", at: 3 } }, { before: { text: "d", at: 3 }, after: { text: "d", at: 4 } }] }]);
    const [first] = beside;
    expect(first?.type === "pairs" && below(first.pairs).map(({ side, line }) => `${side} ${line.text}`)).toEqual(["both a", "before b", "after x", "after y", "both c", "both d"]);
  });
});
