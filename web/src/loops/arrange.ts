// Which loops are shown, and in which order. Within a group what needs a person comes first, and the order holds still
// while loops change, unless it is asked to follow the activity.

import type { LoopSummary } from "../api/types";
import { baseName } from "../lib/format";
import { OUTCOMES } from "../ui/outcome";
import { STATUSES, hasFailed, isOpen, wantsPerson } from "../ui/status";
import { midnight, modelsOf, tokensOf } from "./figures";

export const STATES = ["person", "open", "done"] as const;
export type State = (typeof STATES)[number];
export const GROUPINGS = ["state", "project", "recipe", "agent", "tries"] as const;
export type Grouping = (typeof GROUPINGS)[number];
export const SORTINGS = ["created", "activity", "cost", "tokens", "iterations", "name"] as const;
export type Sorting = (typeof SORTINGS)[number];
/** What the filter of the status knows beside the statuses themselves. */
export const MARKS = [...OUTCOMES, "failed", "merged", "unmerged", "merge_refused"] as const;
/** How long ago a loop may have been started: since midnight, or so many days. */
export const SPANS = ["today", "7", "30"] as const;
/** Everything that is in the address. */
export const VIEW_KEYS = ["q", "status", "project", "agent", "recipe", "model", "since", "group", "sort"] as const;

export type Shown =
  | { type: "group"; key: string; by: Grouping; name: string; count: number; person: number; members: readonly LoopSummary[] }
  | { type: "loop"; key: string; loop: LoopSummary };

export type View = Partial<Record<(typeof VIEW_KEYS)[number], string | undefined>>;

/** A loop that failed needs nobody any more once its work is merged; one whose merge was refused needs somebody. */
export function stateOf(loop: Pick<LoopSummary, "status" | "merged" | "merge_refused"> & { wait?: LoopSummary["wait"] }): State {
  if (loop.wait?.type === "question") return "person";
  if (isOpen(loop.status)) return "open";
  return wantsPerson(loop.status) || loop.merge_refused || (hasFailed(loop.status) && !loop.merged) ? "person" : "done";
}

/** How many loops are in each state. */
export function statesOf(loops: readonly LoopSummary[]): Record<State, number> {
  const counts: Record<State, number> = { person: 0, open: 0, done: 0 };
  for (const loop of loops) counts[stateOf(loop)] += 1;
  return counts;
}

const oneOf = <T extends string>(known: readonly T[], value: string | undefined): T => known.find((one) => one === value) ?? (known[0] as T);
export const groupingOf = (view: View): Grouping => oneOf(GROUPINGS, view.group);
export const sortingOf = (view: View): Sorting => oneOf(SORTINGS, view.sort);

function fits(loop: LoopSummary, status: string): boolean {
  if ((STATES as readonly string[]).includes(status)) return stateOf(loop) === status;
  if ((STATUSES as readonly string[]).includes(status)) return loop.status === status;
  if (status === "failed") return hasFailed(loop.status);
  if (status === "merged") return Boolean(loop.merged);
  if (status === "merge_refused") return Boolean(loop.merge_refused);
  if (status === "unmerged") return loop.status === "completed" && !loop.merged && Boolean(loop.branch);
  return loop.outcome === status;
}

const ORDER: Record<Sorting, (one: LoopSummary, other: LoopSummary) => number> = {
  created: (one, other) => other.created_at.localeCompare(one.created_at),
  activity: (one, other) => other.last_activity_at.localeCompare(one.last_activity_at),
  cost: (one, other) => (other.usage.cost_usd ?? 0) - (one.usage.cost_usd ?? 0),
  tokens: (one, other) => tokensOf(other.usage) - tokensOf(one.usage),
  iterations: (one, other) => other.iterations - one.iterations,
  name: (one, other) => one.name.localeCompare(other.name),
};

const rank = (loop: LoopSummary) => STATES.indexOf(stateOf(loop)) * 2 + (hasFailed(loop.status) ? 1 : 0);

const DAY_MS = 86_400_000;
function startOf(since: string | undefined, now: number): number {
  const span = SPANS.find((one) => one === since);
  if (!span) return 0;
  return span === "today" ? midnight(now) : now - Number(span) * DAY_MS;
}

/** Who works or judges in it. */
export const agentsOf = (loop: LoopSummary) => [loop.agent, ...(loop.review ? [loop.review.reviewer] : [])];

/** What there is to choose from, in alphabetical order. */
export function choicesOf(loops: readonly LoopSummary[]): Record<"project" | "agent" | "recipe" | "model", string[]> {
  const distinct = (of: (loop: LoopSummary) => readonly string[]) => [...new Set(loops.flatMap(of))].filter(Boolean).sort();
  return { project: distinct((loop) => [loop.project]), agent: distinct(agentsOf), recipe: distinct((loop) => [loop.recipe]), model: distinct((loop) => modelsOf(loop.usage)) };
}

export function arrange(loops: readonly LoopSummary[], view: View, now = Date.now()): Shown[] {
  const since = startOf(view.since, now);
  const words = (view.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const found = loops.filter((loop) => {
    if (view.project && loop.project !== view.project) return false;
    if (view.agent && !agentsOf(loop).includes(view.agent)) return false;
    if (view.recipe && loop.recipe !== view.recipe) return false;
    if (view.model && !modelsOf(loop.usage).includes(view.model)) return false;
    if (view.status && !fits(loop, view.status)) return false;
    if (since > 0 && Date.parse(loop.created_at) < since) return false;
    const text = `${loop.name} ${loop.goal} ${loop.project} ${loop.agent} ${loop.recipe} ${loop.branch ?? ""} ${modelsOf(loop.usage).join(" ")}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const by = groupingOf(view);
  const sorting = sortingOf(view);
  // Groups have IDs: two projects may have one of the same name.
  const nameOf = (loop: LoopSummary) => (by === "state" ? stateOf(loop) : by === "tries" ? (loop.group?.id ?? "") : loop[by]);
  const newest = (name: string) => groups.get(name)?.reduce((last, loop) => (loop.created_at > last ? loop.created_at : last), "") ?? "";
  const groups = new Map<string, LoopSummary[]>();
  for (const loop of found) {
    const name = nameOf(loop);
    const members = groups.get(name);
    if (members) members.push(loop);
    else groups.set(name, [loop]);
  }
  const names = by === "state" ? STATES.filter((name) => groups.has(name)) : by === "tries" ? [...groups.keys()].sort((one, other) => Number(!one) - Number(!other) || newest(other).localeCompare(newest(one))) : [...groups.keys()].sort((one, other) => baseName(one).localeCompare(baseName(other)) || one.localeCompare(other));
  return names.flatMap((name) => {
    const members = groups.get(name) ?? [];
    // Who chose an order gets it; the default puts first what waits for an answer.
    members.sort((one, other) => (by === "tries" && name && sorting === "created" ? (one.group?.number ?? 0) - (other.group?.number ?? 0) : 0) || (sorting === "created" ? rank(one) - rank(other) : 0) || ORDER[sorting](one, other) || one.id.localeCompare(other.id));
    const person = members.filter((loop) => stateOf(loop) === "person").length;
    return [{ type: "group" as const, key: `${by}:${name}`, by, name, count: members.length, person, members }, ...members.map((loop) => ({ type: "loop" as const, key: loop.id, loop }))];
  });
}
