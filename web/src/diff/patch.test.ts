import { describe, expect, it } from "vitest";
import { looksLikePatch, parsePatch } from "./patch";

describe("patches", () => {
  it("numbers the lines of both sides", () => {
    const lines = parsePatch("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@ fn main()\n one\n-two\n+zwei\n+drei\n\\ No newline at end of file\n");
    expect(lines.map((line) => line.kind)).toEqual(["note", "note", "note", "hunk", "same", "remove", "add", "add", "note"]);
    expect(lines[5]).toEqual({ kind: "remove", text: "two", before: 2 });
    expect(lines[7]).toEqual({ kind: "add", text: "drei", after: 3 });
  });
  it("a removed line that looks like a header stays a removed line", () => {
    const lines = parsePatch("@@ -1 +1 @@\n--- old comment\n+++ new comment\n");
    expect(lines.map((line) => [line.kind, line.text])).toEqual([["hunk", "@@ -1 +1 @@"], ["remove", "-- old comment"], ["add", "++ new comment"]]);
  });
  it("several files, a cut end, an empty and a hostile patch", () => {
    expect(parsePatch("")).toEqual([]);
    expect(parsePatch("@@ -1,2 +1,2 @@\n a\ndiff --git a/y b/y\nnew file mode 100644\n@@ -0,0 +1 @@\n+b").map((line) => line.kind)).toEqual(["hunk", "same", "note", "note", "hunk", "add"]);
    expect(parsePatch("@@ nonsense @@\n+<script>alert(1)</script>")).toEqual([
      { kind: "note", text: "@@ nonsense @@" },
      { kind: "note", text: "+<script>alert(1)</script>" },
    ]);
  });
  it("knows a patch from prose", () => {
    expect(looksLikePatch("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n")).toBe(true);
    expect(looksLikePatch("+ a list\n- of things")).toBe(false);
  });
});
