// The loop over time: bars in lanes, taken from its timeline. Pure, so that it can be tried.

import type { GateReport, LoopView, Mark, PauseReason, Timeline, TurnView, WaitReason } from "../api/types";

export const LANES = ["planner", "coder", "summariser", "reviewer", "finisher", "gates", "wait", "pause"] as const;
export type Lane = (typeof LANES)[number];
export type Tone = "work" | "review" | "good" | "bad" | "wait" | "idle" | "live";

export type About =
  | { type: "turn"; turn: TurnView }
  | { type: "gate"; report: GateReport; iteration: number }
  | { type: "wait"; why: WaitReason | null }
  | { type: "pause"; why: PauseReason | null };

export interface Bar {
  key: string;
  lane: Lane;
  tone: Tone;
  start: number;
  end: number;
  /** It has no end yet. */
  live: boolean;
  about: About;
}

const LANE_OF: Record<string, Lane> = { planner: "planner", coder: "coder", summariser: "summariser", auditor: "reviewer", acceptor: "reviewer", finisher: "finisher" };

function toneOfTurn(turn: TurnView): Tone {
  if (!turn.ended_at) return "live";
  if (turn.outcome && ["failed", "not_started"].includes(turn.outcome.type)) return "bad";
  if (turn.outcome && turn.outcome.type !== "finished") return "wait";
  return LANE_OF[turn.role] === "reviewer" ? "review" : "work";
}

/** Every mark in its order; each wait and each pause ends with the event that ends it, or not yet. */
export function barsOf(timeline: Timeline, now: number, loop: Pick<LoopView, "status">): Bar[] {
  const bars: Bar[] = [];
  const open: { wait?: Bar | undefined; pause?: Bar | undefined } = {};
  const close = (lane: "wait" | "pause", at: number) => {
    const bar = open[lane];
    if (!bar) return;
    bar.end = at;
    bar.live = false;
    bars.push(bar);
    open[lane] = undefined;
  };
  const begin = (lane: "wait" | "pause", mark: Mark, about: About) => {
    const at = Date.parse(mark.at);
    close(lane, at);
    open[lane] = { key: `${lane} ${mark.seq}`, lane, tone: lane === "wait" ? "wait" : "idle", start: at, end: now, live: true, about };
  };
  for (const mark of [...timeline.before, ...timeline.iterations.flatMap((iteration) => iteration.marks)]) {
    const at = Date.parse(mark.at);
    const event = mark.event;
    switch (event.type) {
      case "gate_ended":
        bars.push({ key: `gate ${mark.seq}`, lane: "gates", tone: event.report.verdict === "pass" ? "good" : "bad", start: at - event.report.duration_ms, end: at, live: false, about: { type: "gate", report: event.report, iteration: event.gate.iteration } });
        break;
      case "wait_started":
        begin("wait", mark, { type: "wait", why: event.why });
        break;
      case "loop_queued":
        begin("wait", mark, { type: "wait", why: null });
        break;
      case "wait_ended":
      case "queue_left":
        close("wait", at);
        break;
      case "loop_paused":
        close("wait", at);
        begin("pause", mark, { type: "pause", why: event.why });
        break;
      case "loop_stopped":
        close("wait", at);
        close("pause", at);
        break;
      case "loop_opened":
        close("pause", at);
        break;
      default:
        break;
    }
  }
  for (const turn of timeline.iterations.flatMap((iteration) => iteration.turns)) {
    const start = Date.parse(turn.started_at);
    // A turn that was cut off has no end; it is at work only in a loop that is.
    const live = !turn.ended_at && loop.status === "running";
    const end = turn.ended_at ? Date.parse(turn.ended_at) : live ? now : start;
    bars.push({ key: `turn ${turn.turn} ${turn.started_at}`, lane: LANE_OF[turn.role] ?? "coder", tone: live || turn.ended_at ? toneOfTurn(turn) : "wait", start, end, live, about: { type: "turn", turn } });
  }
  for (const bar of [open.wait, open.pause]) if (bar) bars.push(bar);
  return bars.sort((one, other) => one.start - other.start);
}

export interface Range {
  start: number;
  end: number;
}

export function rangeOf(bars: readonly Bar[]): Range {
  const start = Math.min(...bars.map((bar) => bar.start));
  const end = Math.max(...bars.map((bar) => bar.end));
  return { start, end: Math.max(end, start + 1000) };
}

/** All of it; the newest stretch where hours of pause would leave nothing to see. */
export function firstView(bars: readonly Bar[], whole: Range): Range {
  const idle = bars.filter((bar) => bar.lane === "pause").reduce((sum, bar) => sum + bar.end - bar.start, 0);
  if (idle < (whole.end - whole.start) * 0.7) return whole;
  const pauses = bars.filter((bar) => bar.lane === "pause" && bar.end - bar.start > (whole.end - whole.start) * 0.2);
  const busy = bars.filter((bar) => bar.lane !== "pause");
  const after = Math.max(whole.start, ...pauses.map((bar) => bar.end).filter((end) => busy.some((bar) => bar.start >= end)));
  const newest = busy.filter((bar) => bar.end >= after);
  return newest.length > 0 ? padded(rangeOf(newest), whole) : whole;
}

function padded(range: Range, whole: Range): Range {
  const room = (range.end - range.start) * 0.04;
  return { start: Math.max(whole.start, range.start - room), end: Math.min(whole.end, range.end + room) };
}

/** The shortest view: a second, or the thirtieth part of a loop that took less than half a minute. */
const shortest = (whole: Range) => Math.min(1000, (whole.end - whole.start) / 30);

/** Closer or further around a point of the view (0 to 1), never beyond the whole. */
export function zoomed(view: Range, whole: Range, factor: number, at = 0.5): Range {
  const length = Math.min(whole.end - whole.start, Math.max(shortest(whole), (view.end - view.start) * factor));
  return moved({ start: view.start + (view.end - view.start - length) * at, end: view.start + (view.end - view.start - length) * at + length }, whole, 0);
}

/** By a part of its own length, never beyond the whole. */
export function moved(view: Range, whole: Range, by: number): Range {
  const length = view.end - view.start;
  const start = Math.max(whole.start, Math.min(whole.end - length, view.start + length * by));
  return { start, end: start + length };
}

export interface Drawn extends Range {
  key: string;
  lane: Lane;
  tone: Tone;
  live: boolean;
  /** None where several would be one point wide: they are opened by coming closer. */
  bar: Bar | null;
  count: number;
}

/** What is in the view. Neighbours in a lane that are too narrow to be told apart become one. */
export function drawn(bars: readonly Bar[], view: Range, pixels: number): Drawn[] {
  const narrow = ((view.end - view.start) / Math.max(1, pixels)) * 2;
  const last = new Map<Lane, Drawn>();
  const out: Drawn[] = [];
  for (const bar of bars) {
    if (bar.end < view.start || bar.start > view.end) continue;
    const before = last.get(bar.lane);
    if (before && bar.start - before.end < narrow && bar.end - bar.start < narrow && before.end - before.start < narrow * 4) {
      before.end = Math.max(before.end, bar.end);
      before.bar = null;
      before.count += 1;
      if (bar.tone === "bad") before.tone = "bad";
      continue;
    }
    const next: Drawn = { key: bar.key, lane: bar.lane, tone: bar.tone, live: bar.live, start: bar.start, end: bar.end, bar, count: 1 };
    last.set(bar.lane, next);
    out.push(next);
  }
  return out;
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400, 172_800, 604_800, 2_592_000].map((seconds) => seconds * 1000);

/** Round moments of the reader's own clock, at most so many. */
export function ticksOf(view: Range, most: number): number[] {
  const step = STEPS.find((each) => (view.end - view.start) / each <= most) ?? (STEPS.at(-1) as number);
  const offset = new Date(view.start).getTimezoneOffset() * 60_000;
  const first = Math.ceil((view.start - offset) / step) * step + offset;
  return Array.from({ length: Math.max(0, Math.floor((view.end - first) / step) + 1) }, (_, index) => first + index * step);
}
