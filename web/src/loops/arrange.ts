// Which loops are shown, and in which order: what needs a person, what works, what is over. Within a group the newest
// first, by creation, so that rows do not jump about while they change.

import type { LoopSummary } from "../api/types";
import { isOpen, wantsPerson } from "../ui/status";

export type Group = "person" | "open" | "over";
export type Shown = { type: "group"; key: string; name: Group; count: number } | { type: "loop"; key: string; loop: LoopSummary };
export interface Filter {
  q?: string | undefined;
  status?: string | undefined;
  project?: string | undefined;
}

const GROUPS: Group[] = ["person", "open", "over"];

export function groupOf(status: string): Group {
  if (wantsPerson(status) || status === "interrupted") return "person";
  return isOpen(status) ? "open" : "over";
}

export function arrange(loops: readonly LoopSummary[], filter: Filter): Shown[] {
  const words = (filter.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const found = loops.filter((loop) => {
    if (filter.project && loop.project !== filter.project) return false;
    if (filter.status === "open" ? !isOpen(loop.status) : filter.status === "person" ? groupOf(loop.status) !== "person" : filter.status && loop.status !== filter.status) return false;
    const text = `${loop.name} ${loop.goal} ${loop.project} ${loop.agent}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return GROUPS.flatMap((name) => {
    const members = found.filter((loop) => groupOf(loop.status) === name);
    if (members.length === 0) return [];
    members.sort((one, other) => other.created_at.localeCompare(one.created_at));
    return [{ type: "group" as const, key: name, name, count: members.length }, ...members.map((loop) => ({ type: "loop" as const, key: loop.id, loop }))];
  });
}
