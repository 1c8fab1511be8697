import { describe, expect, it } from "vitest";
import type { Timeline } from "../api/types";
import { barsOf, drawn, firstView, moved, rangeOf, ticksOf, zoomed } from "./graph";

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
const ms = (seconds: number) => Date.UTC(2026, 0, 1) + seconds * 1000;
let seq = 0;
const mark = (seconds: number, event: object) => ({ seq: (seq += 1), at: at(seconds), event });
const turn = (role: string, from: number, to: number | null, outcome = "finished") => ({ turn: `1.${role}.1`, iteration: 1, role, attempt: 1, started_at: at(from), ended_at: to === null ? null : at(to), outcome: to === null ? null : { type: outcome } });
const gate = (verdict: string, duration: number) => ({ type: "gate_ended", gate: { iteration: 1 }, report: { verdict, duration_ms: duration, command: "test" } });
const timelineOf = (turns: object[], marks: object[]) => ({ before: [], iterations: [{ iteration: 1, started_at: at(0), turns, marks }] }) as unknown as Timeline;

describe("the loop over time", () => {
  const timeline = timelineOf(
    [turn("coder", 0, 60), turn("auditor", 70, 90), turn("coder", 200, null)],
    [mark(68, gate("fail", 8000)), mark(95, { type: "wait_started", until: at(120), why: { type: "rate_limit", message: "" } }), mark(120, { type: "wait_ended" }), mark(130, { type: "loop_paused", why: { type: "person" } }), mark(200, { type: "loop_opened", by: "resume" })],
  );
  it("has turns by role, gates as long as they took, waits and pauses between their events", () => {
    const bars = barsOf(timeline, ms(210), { status: "running" }).map((bar) => [bar.lane, bar.tone, (bar.start - ms(0)) / 1000, (bar.end - ms(0)) / 1000, bar.live]);
    expect(bars).toEqual([["coder", "work", 0, 60, false], ["gates", "bad", 60, 68, false], ["reviewer", "review", 70, 90, false], ["wait", "wait", 95, 120, false], ["pause", "idle", 130, 200, false], ["coder", "live", 200, 210, true]]);
  });
  it("a turn that was cut off does not go on in a loop that rests; a pause does", () => {
    const paused = timelineOf([turn("coder", 0, null)], [mark(30, { type: "loop_paused", why: { type: "person" } })]);
    const bars = barsOf(paused, ms(100), { status: "paused" });
    expect(bars.map((bar) => [bar.lane, bar.live, bar.end - bar.start])).toEqual([["coder", false, 0], ["pause", true, 70_000]]);
  });
  it("opens at the newest stretch if pauses leave nothing to see", () => {
    const night = timelineOf([turn("coder", 0, 60), turn("coder", 40_000, 40_060)], [mark(60, { type: "loop_paused", why: { type: "person" } }), mark(40_000, { type: "loop_opened", by: "resume" })]);
    const bars = barsOf(night, ms(40_060), { status: "completed" });
    const view = firstView(bars, rangeOf(bars));
    expect(view.start).toBeGreaterThan(ms(39_000));
    const short = barsOf(timeline, ms(210), { status: "running" });
    expect(firstView(short, rangeOf(short))).toEqual(rangeOf(short));
  });
  it("zooms and moves within the whole", () => {
    const whole = { start: 0, end: 100_000 };
    const near = zoomed(whole, whole, 0.5);
    expect(near).toEqual({ start: 25_000, end: 75_000 });
    expect(moved(near, whole, 5)).toEqual({ start: 50_000, end: 100_000 });
    expect(zoomed(near, whole, 100)).toEqual(whole);
    expect(zoomed({ start: 0, end: 1000 }, whole, 0.1)).toEqual({ start: 0, end: 1000 });
    const brief = { start: 0, end: 900 };
    expect(zoomed(brief, brief, 0.5, 0)).toEqual({ start: 0, end: 450 });
    expect(zoomed(brief, brief, 0.001, 0)).toEqual({ start: 0, end: 30 });
  });
  it("draws thousands of bars as the few that can be told apart, and keeps what failed red", () => {
    const bars = Array.from({ length: 5000 }, (_, index) => ({ key: `${index}`, lane: "gates" as const, tone: index === 700 ? ("bad" as const) : ("good" as const), start: index * 1000, end: index * 1000 + 500, live: false, about: { type: "wait" as const, why: null } }));
    const seen = drawn(bars, { start: 0, end: 5_000_000 }, 1000);
    expect(seen.length).toBeLessThan(1000);
    expect(seen.reduce((sum, each) => sum + each.count, 0)).toBe(5000);
    expect(seen.some((each) => each.tone === "bad")).toBe(true);
    expect(drawn(bars, { start: 0, end: 4000 }, 1000)).toHaveLength(5);
  });
  it("has round ticks, not too many", () => {
    const ticks = ticksOf({ start: ms(3), end: ms(303) }, 8);
    expect(ticks.length).toBeLessThanOrEqual(8);
    expect(ticks.every((tick) => tick % 60_000 === 0)).toBe(true);
  });
});
