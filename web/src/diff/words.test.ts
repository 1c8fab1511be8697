import { describe, expect, it } from "vitest";
import { wordMarks } from "./words";

const marked = (spans: { text: string; changed: boolean }[] | undefined) => (spans ?? []).map((span) => (span.changed ? `[${span.text}]` : span.text)).join("");

describe("word marks", () => {
  it("mark what differs on each side", () => {
    const marks = wordMarks("const total = sum(price);", "const total = sum(price, tax);");
    expect(marked(marks?.[0])).toBe("const total = sum(price);");
    expect(marked(marks?.[1])).toBe("const total = sum(price[, tax]);");
  });
  it("mark several places of a line", () => {
    const marks = wordMarks("let a = one(x, y)", "let b = one(x, z)");
    expect([marked(marks?.[0]), marked(marks?.[1])]).toEqual(["let [a] = one(x, [y])", "let [b] = one(x, [z])"]);
  });
  it("leave lines alone that have little in common, and keep every character", () => {
    expect(wordMarks("alpha beta gamma", "one two three four")).toBeNull();
    const marks = wordMarks("  indented 你好 text", "    indented 你们 text");
    expect(marks?.map((spans) => spans.map((span) => span.text).join(""))).toEqual(["  indented 你好 text", "    indented 你们 text"]);
  });
  it("a line of thousands of words does not take for ever", () => {
    const long = "word ".repeat(20_000);
    expect(marked(wordMarks(`${long}a`, `${long}b`)?.[1])).toBe(`${long}[b]`);
  });
});
