import { describe, expect, it } from "vitest";
import type { FeedItem } from "../api/types";
import { markdownLine } from "./markdown";
import { RowMaker, type TextRow } from "./rows";

const marks = (text: string) => markdownLine(text)?.pieces.map(({ text, mark, href }) => `${mark ?? (href ? "link" : "text")}:${text}`);

describe("Markdown of one line", () => {
  it("finds headings, items, quotes and rules", () => {
    expect(["## Done ##", "- one", "  2. two", "> said", "---"].map((line) => markdownLine(line)?.type)).toEqual(["heading", "item", "item", "quote", "rule"]);
    expect(markdownLine("  2. two")?.lead).toBe("  2. ");
    expect(markdownLine("* one")?.lead).toBe("• ");
  });
  it("finds what is marked inside a line", () => {
    expect(marks("I read the **search module** and `words`, *twice*, ~~not~~ [here](https://a.example/x)")).toEqual(["text:I read the ", "strong:search module", "text: and ", "code:words", "text:, ", "emphasis:twice", "text:, ", "strike:not", "text: ", "link:here"]);
  });
  it("leaves names, sums and flags as they are", () => {
    for (const line of ["snake_case_name", "2 * 3 * 4", "a ** b", "--flag -x", "#1 is open", "x > y", "[x](javascript:alert(1))", "<promise>COMPLETE</promise>", "a - b"]) expect(markdownLine(line), line).toBeNull();
  });
  it("comes to an end with lines that nothing closes", () => {
    for (const part of ["*a", "`", "[", "**", "_a ", "~~a"]) expect(markdownLine(part.repeat(1_000))?.type ?? "plain").not.toBe("heading");
  });
});

describe("a block of code among the words", () => {
  const text = (body: string) => ({ seq: 1, at: "2026-11-16T05:00:00Z", type: "text", turn: { iteration: 1, role: "coder", attempt: 1 }, text: body }) as unknown as FeedItem;
  it("is no Markdown from its fence to the fence that closes it, also in pieces", () => {
    const maker = new RowMaker();
    const rows = ["words\n```js\n# not a", " heading\n~~~\n```\n# heading\n"].flatMap((body, index) => maker.make(String(index), text(body))) as TextRow[];
    expect(rows.map((row) => [row.text, row.code ?? false])).toEqual([["words", false], ["```js", true], ["# not a heading", true], ["~~~", true], ["```", true], ["# heading", false]]);
  });
});
