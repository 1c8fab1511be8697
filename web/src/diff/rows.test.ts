import { describe, expect, it } from "vitest";
import type { FileDiff } from "../api/types";
import { SHOWN_LINES, rowsOf } from "./rows";

const file = (path: string, patch: string, more: object = {}): FileDiff => ({ path, old_path: null, status: "modified", added: 1, removed: 1, binary: false, cut: false, patch, ...more }) as FileDiff;
const NONE = { open: new Map<string, boolean>(), whole: new Set<string>() };
const PATCH = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n one\n-two\n+zwei\n+drei\n end\n";

describe("rows of a diff", () => {
  it("unified: one row a line, a replaced line knows its other", () => {
    const rows = rowsOf([file("x", PATCH)], "unified", NONE);
    expect(rows.map((row) => (row.type === "line" ? `${row.line.kind}:${row.line.text}/${row.other?.text ?? ""}` : row.type))).toEqual(["file", "hunk", "same:one/", "remove:two/zwei", "add:zwei/two", "add:drei/", "same:end/"]);
  });
  it("split: both sides in a row", () => {
    const rows = rowsOf([file("x", PATCH)], "split", NONE);
    expect(rows.map((row) => (row.type === "pair" ? `${row.before?.text ?? ""}|${row.after?.text ?? ""}` : row.type))).toEqual(["file", "hunk", "one|one", "two|zwei", "|drei", "end|end"]);
    expect(new Set(rows.map((row) => row.key)).size).toBe(rows.length);
  });
  it("a long file is cut until it is asked for, a huge one starts folded, a folded one is its head", () => {
    const long = file("x", `@@ -0,0 +1,900 @@\n${"+a\n".repeat(900)}`, { added: 900, removed: 0 });
    const cut = rowsOf([long], "unified", NONE);
    expect(cut.at(-1)).toMatchObject({ type: "more", hidden: 901 - SHOWN_LINES });
    expect(rowsOf([long], "unified", { ...NONE, whole: new Set(["x"]) })).toHaveLength(902);
    expect(rowsOf([{ ...long, added: 5_000 }], "unified", NONE)).toHaveLength(1);
    expect(rowsOf([long], "unified", { ...NONE, open: new Map([["x", false]]) })).toHaveLength(1);
  });
  it("says of a binary file, of one without lines, and of one that the server cut, what it is", () => {
    expect(rowsOf([file("a", "", { binary: true }), file("b", "old mode 1\nnew mode 2\n"), file("c", "@@ -1 +1 @@\n+a\n", { cut: true })], "unified", NONE).flatMap((row) => (row.type === "note" ? [row.note] : []))).toEqual(["binary", "no_lines", "cut"]);
  });
});
