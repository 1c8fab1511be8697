import { describe, expect, it } from "vitest";
import type { FeedItem } from "../api/types";
import type { TextRow, ToolRow } from "./rows";
import { FeedWindow, type Entry } from "./window";

const AT = "2026-11-16T05:00:00Z";
const turn = (role: string) => ({ iteration: 1, role, attempt: 1 });
const text = (id: number | string, body: string, role = "coder"): Entry => ({
  id: String(id),
  from: String(Number(id) - 1),
  item: { seq: 1, at: AT, type: "text", turn: turn(role), text: body } as unknown as FeedItem,
});
const shown = (window: FeedWindow, side: "coder" | "reviewer" = "coder") => window.panes[side].rows.map((row) => (row as TextRow).text);

describe("the window on a feed", () => {
  it("splits text into lines and joins a line that came in pieces", () => {
    const window = new FeedWindow(1);
    window.append([text(1, "one\ntw"), text(2, "o\nthree\n"), text(3, "four")]);
    expect(shown(window)).toEqual(["one", "two", "three", "four"]);
  });
  it("keeps empty lines and breaks endless ones", () => {
    const window = new FeedWindow(1);
    window.append([text(1, `a\n\n${"x".repeat(4_500)}\n`)]);
    expect(shown(window).map((line) => line.length)).toEqual([1, 0, 2_000, 2_000, 500]);
  });
  it("sends a reviewer's words to its own side", () => {
    const window = new FeedWindow(2);
    window.append([text(1, "code\n"), text(2, "looks wrong\n", "auditor")]);
    expect([shown(window), shown(window, "reviewer")]).toEqual([["code"], ["looks wrong"]]);
  });
  it("a tool's result lies with its call, also when others come between", () => {
    const window = new FeedWindow(1);
    const item = (body: object) => ({ seq: 1, at: AT, turn: turn("coder"), ...body }) as unknown as FeedItem;
    window.append([
      { id: "1", from: "0", item: item({ type: "tool_use", id: "t", name: "Bash", input: "ls" }) },
      { id: "2", from: "1", item: item({ type: "tool_use", id: "u", name: "Read", input: "x" }) },
      { id: "3", from: "2", item: item({ type: "tool_result", id: "t", output: "a.txt", is_error: true }) },
    ]);
    const rows = window.panes.coder.rows as ToolRow[];
    expect(rows).toHaveLength(2);
    expect([rows[0]?.output, rows[0]?.failed, rows[1]?.output]).toEqual(["a.txt", true, undefined]);
  });
  it("memory is bounded while it follows, and nothing is dropped below the eyes of a reader", () => {
    const window = new FeedWindow(1, { rows: 100, size: 1e9 });
    for (let id = 0; id < 5_000; id += 1) window.append([text(id, `line ${id}\n`)]);
    expect(shown(window).length).toBeLessThanOrEqual(110);
    expect(shown(window).at(-1)).toBe("line 4999");
    window.follow("coder", false);
    const before = shown(window)[0];
    for (let id = 5_000; id < 9_000; id += 1) window.append([text(id, `line ${id}\n`)]);
    expect(shown(window)[0]).toBe(before);
    expect(shown(window).length).toBeLessThanOrEqual(111);
    expect(window.panes.coder.cut).toBeGreaterThan(3_000);
  });
  it("memory is bounded by size as well", () => {
    const window = new FeedWindow(1, { rows: 1e9, size: 10_000 });
    for (let id = 0; id < 100; id += 1) window.append([text(id, `${"y".repeat(1_000)}\n`)]);
    expect(window.panes.coder.rows.length).toBeLessThan(12);
  });
  it("older pages go in front, newest are cut when the window is full, and what is cut leaves no hole", () => {
    const window = new FeedWindow(1, { rows: 10, size: 1e9 });
    window.begin("4");
    window.append([5, 6, 7, 8, 9].map((id) => text(id, `${id}\n`)));
    window.follow("coder", false);
    window.prepend(["coder"], "4", [3, 4].map((id) => text(id, `${id}\n`)), "2");
    expect(shown(window)).toEqual(["3", "4", "5", "6", "7", "8", "9"]);
    window.prepend(["coder"], "4", [3, 4].map((id) => text(id, `${id}\n`)), "2");
    expect(shown(window)).toHaveLength(7);
    window.prepend(["coder"], "2", [-4, -3, -2, -1, 0, 1, 2].map((id) => text(id, `${id}\n`)), null);
    expect(shown(window)).toEqual(["-4", "-3", "-2", "-1", "0", "1", "2", "3", "4", "5"]);
    expect(window.panes.coder.start).toBeNull();
    window.append([text(10, "10\n")]);
    expect(shown(window).at(-1)).toBe("5");
    expect(window.panes.coder.cut).toBe(5);
  });
  it("knows where it begins after the oldest were dropped, so that they can be fetched again", () => {
    const window = new FeedWindow(1, { rows: 10, size: 1e9 });
    window.begin(null);
    for (let id = 1; id <= 50; id += 1) window.append([text(id, `${id}\n`)]);
    const first = Number(shown(window)[0]);
    expect(first).toBeGreaterThan(38);
    expect(window.panes.coder.start).toBe(String(first - 1));
  });
  it("a page that does not join the other side's window stays out of it", () => {
    const window = new FeedWindow(2);
    window.begin("9");
    window.panes.reviewer.start = "19";
    window.append([text(10, "code\n"), text(20, "review\n", "auditor")]);
    window.prepend(["coder"], "9", [text(8, "old code\n"), text(9, "old review\n", "auditor")], "7");
    expect(shown(window)).toEqual(["old code", "code"]);
    expect(shown(window, "reviewer")).toEqual(["review"]);
  });
  it("a page comes to the side that asked for it, also where the other begins at the same place", () => {
    const window = new FeedWindow(2);
    window.begin("9");
    window.prepend(["reviewer"], "9", [text(8, "old code\n"), text(9, "old review\n", "auditor")], "7");
    expect([shown(window), shown(window, "reviewer")]).toEqual([[], ["old review"]]);
    expect([window.panes.coder.start, window.panes.reviewer.start]).toEqual(["9", "7"]);
  });
  it("who follows keeps the end: a page that does not fit loses its oldest", () => {
    const window = new FeedWindow(1, { rows: 1e9, size: 3_000 });
    window.begin("2");
    window.append([text(3, "the end\n")]);
    window.prepend(["coder"], "2", [text(1, `${"x".repeat(2_000)}\n`), text(2, `${"y".repeat(1_000)}\n`)], null);
    expect(shown(window).map((line) => line.slice(0, 7))).toEqual(["yyyyyyy", "the end"]);
    expect([window.panes.coder.start, window.panes.coder.cut]).toEqual(["1", 0]);
  });
  it("a jump holds one page, knows what it passed over, and pages on from there", () => {
    const window = new FeedWindow(1);
    window.begin("9");
    window.append([text(10, "ten\n"), text(11, "eleven\n")]);
    window.jump("coder", [text(3, "three\n"), text(4, "four\n")], "2", 7);
    expect(shown(window)).toEqual(["three", "four"]);
    expect([window.panes.coder.cut, window.panes.coder.start, window.panes.coder.following]).toEqual([7, "2", false]);
    window.append([text(12, "twelve\n")]);
    expect([shown(window).length, window.panes.coder.cut]).toEqual([2, 8]);
    window.prepend(["coder"], "2", [text(1, "one\n"), text(2, "two\n")], null);
    expect(shown(window)).toEqual(["one", "two", "three", "four"]);
  });
});
