import { describe, expect, it } from "vitest";
import { parseLine, plain } from "./ansi";

const texts = (line: string) => parseLine(line).runs.map((run) => run.text).join("");

describe("terminal escapes", () => {
  it("colours become runs, and go on over a line's end", () => {
    const first = parseLine("a\u001b[1;31mb");
    expect(first.runs).toEqual([{ text: "a", style: {} }, { text: "b", style: { bold: true, fg: 1 } }]);
    expect(parseLine("c\u001b[0md", first.style).runs).toEqual([
      { text: "c", style: { bold: true, fg: 1 } },
      { text: "d", style: {} },
    ]);
  });
  it("256 and true colours, also with colons", () => {
    expect(parseLine("\u001b[38;5;196mx").runs[0]?.style.fg).toBe("#ff0000");
    expect(parseLine("\u001b[38;5;9mx").runs[0]?.style.fg).toBe(9);
    expect(parseLine("\u001b[48;2;1;2;300mx").runs[0]?.style.bg).toBe("#0102ff");
    expect(parseLine("\u001b[38;5;240mx").runs[0]?.style.fg).toBe("#585858");
  });
  it("what moves the cursor, sets titles, makes links or writes the clipboard leaves no trace", () => {
    expect(texts("a\u001b[2J\u001b[10;5Hb")).toBe("ab");
    expect(texts("a\u001b]0;title\u0007b")).toBe("ab");
    expect(texts("a\u001b]52;c;ZXZpbA==\u001b\\b")).toBe("ab");
    expect(texts("\u001b]8;;javascript:alert(1)\u0007click\u001b]8;;\u0007")).toBe("click");
    expect(texts("a\u001bP1$qm\u001b\\b")).toBe("ab");
    expect(texts("a\u001b(Bb\u001b7\u001b8\u001bc")).toBe("ab");
  });
  it("a sequence that never ends is no text and no hang", () => {
    expect(texts("a\u001b[")).toBe("a");
    expect(texts("a\u001b[38;5")).toBe("a");
    expect(texts("a\u001b]0;never closed")).toBe("a");
    expect(texts("\u001b")).toBe("");
    expect(parseLine(`\u001b[${"1;".repeat(100_000)}mx`).runs[0]?.text).toBe("x");
  });
  it("a progress bar shows what stands there last", () => {
    expect(texts("10%\r50%\r100%")).toBe("100%");
    expect(texts("windows line\r")).toBe("windows line");
  });
  it("markup stays text, invisible characters that make text lie are gone", () => {
    expect(texts("<script>alert(1)</script>")).toBe("<script>alert(1)</script>");
    expect(texts("safe\u202egpj.exe\u0000\u0007")).toBe("safegpj.exe");
  });
  it("plain is the text alone", () => {
    expect(plain("\u001b[32mok\u001b[0m \u001b]0;x\u0007done")).toBe("ok done");
  });
});
