import { describe, expect, it } from "vitest";
import { linesOf } from "./lines";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("pages of a transcript", () => {
  it("a cut line belongs to its neighbour, so pages neither lose nor double one", () => {
    const file = bytes("one\ntwo\nthree\nfour\n");
    const page = linesOf(file.subarray(2, 16), 2, file.length);
    expect(page).toEqual({ start: 4, end: 14, lines: ["two", "three"] });
  });
  it("the file's ends are whole", () => {
    const file = bytes("one\ntwo");
    expect(linesOf(file, 0, file.length)).toEqual({ start: 0, end: 7, lines: ["one", "two"] });
    expect(linesOf(new Uint8Array(), 0, 0)).toEqual({ start: 0, end: 0, lines: [] });
  });
  it("one endless line is broken, and bytes that are no text are shown as such", () => {
    const page = linesOf(bytes("x".repeat(5_000)), 100, 1_000_000);
    expect(page.lines.map((line) => line.length)).toEqual([2_000, 2_000, 1_000]);
    expect(linesOf(new Uint8Array([0xff, 0xfe, 10]), 0, 3).lines).toEqual(["\ufffd\ufffd"]);
  });
});
