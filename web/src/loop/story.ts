// What an overview tells, taken from the loop's journal and its timeline.

import type { GateReport, IterationSize, IterationView, LoopView, Mark, RefusedBecause, Timeline } from "../api/types";

/** How an iteration ended, or that it has not. */
export type Verdict = "accepted" | "refused" | "undone" | "unchanged" | "failing" | "changed" | "running";

export interface Cell {
  iteration: number;
  verdict: Verdict;
  /** None before the checkpoint. */
  files: number | null;
  /** None before the checkpoint, or where git cannot tell. */
  lines: { added: number; removed: number } | null;
  gates: readonly ("pass" | "fail" | "skipped")[];
  claim: boolean;
  cost: number | null;
  durationMs: number | null;
}

/** Which of the gates it is counts from 0. */
export type FailedGate = GateReport & { index: number };

export interface Refusal {
  iteration: number;
  /** None if a reviewer refused. */
  because: RefusedBecause | null;
  /** The reviewer's words. */
  reason: string;
  /** Findings that were open after its review. */
  open: number;
  /** The last report of each gate that failed in that iteration. */
  gates: FailedGate[];
}

const eventsOf = (marks: readonly Mark[]) => marks.map((mark) => mark.event);

function verdictOf(iteration: IterationView, record: LoopView["history"][number] | undefined, loop: LoopView): Verdict {
  const events = eventsOf(iteration.marks);
  if (record?.undone) return "undone";
  const last = iteration.iteration === loop.iterations;
  const ruling = events.findLast((event) => event.type === "reviewed");
  const refused = events.some((event) => event.type === "claim_refused" || event.type === "rejected_unseen") || (ruling && ["dirty", "rejected"].includes(ruling.ruling.type));
  if (refused) return "refused";
  if ((ruling && ["clean", "accepted"].includes(ruling.ruling.type)) || (last && loop.outcome === "verified")) return "accepted";
  if (last && ["running", "waiting"].includes(loop.status)) return "running";
  if (record?.gates.includes("fail")) return "failing";
  return record && !record.checkpoint.created && (record.checkpoint.agent_commits ?? []).length === 0 ? "unchanged" : "changed";
}

/** One for each iteration, the oldest first. */
export function cellsOf(loop: LoopView, timeline: Timeline, sizes: readonly IterationSize[] = []): Cell[] {
  const records = new Map(loop.history.map((record) => [record.iteration, record]));
  const sizeOf = new Map(sizes.map((size) => [size.iteration, size]));
  return timeline.iterations.map((iteration) => {
    const record = records.get(iteration.iteration);
    const costs = iteration.turns.map((turn) => turn.usage?.cost_usd).filter((cost) => cost != null);
    return {
      iteration: iteration.iteration,
      verdict: verdictOf(iteration, record, loop),
      lines: (record && sizeOf.get(iteration.iteration)) ?? null,
      files: record ? record.checkpoint.files_changed : null,
      gates: record?.gates ?? [],
      claim: record?.claim ?? iteration.turns.some((turn) => turn.claim),
      cost: costs.length > 0 ? costs.reduce((sum, cost) => sum + cost, 0) : null,
      durationMs: record?.duration_ms ?? null,
    };
  });
}

function failedIn(iteration: IterationView): FailedGate[] {
  const reports = new Map<string, FailedGate>();
  for (const event of eventsOf(iteration.marks)) if (event.type === "gate_ended" && event.gate.iteration > 0) reports.set(event.report.command, { ...event.report, index: event.gate.index });
  return [...reports.values()].filter((report) => report.verdict !== "pass");
}

/** The newest refusal that nothing has overtaken since: a later iteration that was accepted answers it. */
export function refusalOf(timeline: Timeline, cells: readonly Cell[]): Refusal | null {
  for (const cell of cells.toReversed()) {
    if (cell.verdict === "accepted") return null;
    if (cell.verdict !== "refused") continue;
    const iteration = timeline.iterations.find((each) => each.iteration === cell.iteration);
    if (!iteration) continue;
    const events = eventsOf(iteration.marks);
    const claim = events.findLast((event) => event.type === "claim_refused");
    const unseen = events.findLast((event) => event.type === "rejected_unseen");
    const ruling = events.findLast((event) => event.type === "reviewed")?.ruling;
    const reason = unseen?.reason ?? (ruling?.type === "rejected" ? ruling.reason : "");
    return { iteration: cell.iteration, because: claim?.because ?? null, reason, open: ruling?.type === "dirty" ? (ruling.open?.length ?? 0) : 0, gates: failedIn(iteration) };
  }
  return null;
}

/** How each gate ended on the commit that the loop started from. */
export function baseGates(timeline: Timeline): Map<string, GateReport["verdict"]> {
  const found = new Map<string, GateReport["verdict"]>();
  for (const marks of [timeline.before, ...timeline.iterations.map((iteration) => iteration.marks)]) {
    for (const event of eventsOf(marks)) if (event.type === "gate_ended" && event.gate.iteration === 0) found.set(event.report.command, event.report.verdict);
  }
  return found;
}

/** The branch that a merge goes to unless somebody says otherwise; nothing if the journal does not name it. */
export function homeBranch(timeline: Timeline | undefined): string | null {
  for (const event of eventsOf(timeline?.before ?? [])) {
    if (event.type !== "workspace_opened") continue;
    const branch = (event.opening.handle as { home?: { branch?: unknown } } | null | undefined)?.home?.branch;
    if (typeof branch === "string") return branch;
  }
  return null;
}

/** The last lines of an output, without empty ones at its end. */
export function lastLines(text: string, count: number): { lines: string; cut: boolean } {
  const all = text.trimEnd().split("\n");
  return { lines: all.slice(-count).join("\n"), cut: all.length > count };
}
