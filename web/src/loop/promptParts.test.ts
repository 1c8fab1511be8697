import { describe, expect, it } from "vitest";
import { lineKinds, promptParts } from "./promptParts";

const known = { goal: "Search finds every word", promise: "<promise>COMPLETE</promise>", messages: ["Use the index."] };

describe("the parts of a prompt", () => {
  it("are the goal, what gates said, a message, and the promise", () => {
    const text = "Search finds every word\n\nYou claimed that the work is done. It is not accepted yet: 1 of 1 gates failed after your last turn.\n\n$ npm test\n(exit code 1)\n```\nnot ok 9\n\n  expected\n```\n\nUse the index.\n\nEnd your answer with:\n<promise>COMPLETE</promise>\n\ncontinue";
    expect(promptParts(text, known).map((part) => part.kind)).toEqual(["goal", "gates", "message", "promise", "words"]);
  });
  it("keep every line, and blank lines inside of a fence", () => {
    const parts = promptParts("one\n\n```\na\n\nb\n```\n\ntwo", { ...known, goal: "" });
    expect(parts).toEqual([{ kind: "words", lines: ["one", "", "```", "a", "", "b", "```", "", "two"] }]);
  });
  it("are known of each line", () => {
    expect(lineKinds("Search finds every word\n\n$ npm test\n```\n\nnot ok\n```\n\nUse the index.\n", known)).toEqual(["goal", "goal", "gates", "gates", "gates", "gates", "gates", "gates", "message", "message"]);
    expect(lineKinds("", known)).toEqual(["words"]);
  });
});
