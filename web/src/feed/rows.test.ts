import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { FeedItem } from "../api/types";
import { RowMaker, SILENT_TYPES, TOLD_PHASES, isShown } from "./rows";

const CLI = new URL("../../../crates/cli/src/render/", import.meta.url);
const read = (file: string) => readFileSync(new URL(file, CLI), "utf8");
const snake = (name: string) => name.replace(/(?<!^)[A-Z]/g, "_$&").toLowerCase();

/** What the command line leaves out: the arms of its events that end in an empty string. */
function unsaid(): Set<string> {
  const arms = [...`${read("mod.rs")}\n${read("review.rs")}`.matchAll(/((?:\| )?(?:Event|AgentEvent|ReviewEvent)::\w+(?: \{[^}]*\})?[^=;]*?)=> (?:return )?String::new\(\)/g)];
  return new Set(arms.flatMap(([, arm]) => [...(arm ?? "").matchAll(/(?:Event|AgentEvent|ReviewEvent)::(\w+)/g)].map(([, name]) => snake(name ?? ""))));
}

describe("the feed", () => {
  it("shows every event that the command line prints", () => {
    const left = unsaid();
    expect(left).toContain("usage_reported");
    // These are rows of their own, and no events.
    const rows = ["text", "thinking", "tool_use", "tool_result", "raw", "stderr"];
    // A loop's first event tells the renderer its limits; the page says that it was started.
    expect(SILENT_TYPES.filter((type) => !rows.includes(type) && !left.has(type) && type !== "loop_created")).toEqual([]);
  });
  it("tells of every phase that the command line tells of", () => {
    const told = [...read("mod.rs").matchAll(/phase: Phase::(\w+)/g)].map(([, name]) => snake(name ?? ""));
    expect([...TOLD_PHASES].sort()).toEqual(told.sort());
  });
  it("says once that an agent has no sessions, and each further attempt", () => {
    const maker = new RowMaker();
    const turn = (iteration: number, attempt: number) => ({ type: "turn_started", seq: 1, at: "2026-01-01T00:00:00Z", recovery: false, session: { type: "fresh_instead" }, steering: [], turn: { iteration, role: "coder", attempt }, turn_id: `${iteration}` }) as FeedItem;
    expect([turn(1, 1), turn(2, 1), turn(2, 2)].map((item, index) => maker.make(String(index), item).length)).toEqual([1, 0, 1]);
    expect(isShown({ ...turn(1, 1), session: { type: "fresh" } } as FeedItem)).toBe(false);
  });
});
