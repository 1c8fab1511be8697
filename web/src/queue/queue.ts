// The queue of goals and the merge queue: what can be done with each line, and in which words. Pure, so that it can be tried.

import type { TFunction } from "i18next";
import type { GoalView, MergesEntryView, MergesView } from "../api/types";
import { moment } from "../lib/format";

/** Goals that have not started have an order; those with a loop have had their turn. */
export const canMove = (goal: Pick<GoalView, "id" | "status">, started: ReadonlySet<string>) => NOT_STARTED.includes(goal.status) && !started.has(goal.id);
/** What a goal can be before it has a loop; a loop may wait too. */
const NOT_STARTED = ["waiting", "blocked", "rate_limited", "failed"];

/** Not while its loop runs. */
export const canRemove = (goal: Pick<GoalView, "id" | "status">, started: ReadonlySet<string>) => !started.has(goal.id) || !["running", "queued", "waiting", "rate_limited"].includes(goal.status);

/** Where a goal goes that is dropped on another one, or moved by so many places; nothing if it stays. */
export function moveBody(movable: readonly number[], number: number, onto: number): { before: string } | { last: true } | null {
  const [from, to] = [movable.indexOf(number), movable.indexOf(onto)];
  if (from < 0 || to < 0 || from === to) return null;
  const next = from < to ? movable[to + 1] : onto;
  return next === undefined ? { last: true } : { before: String(next) };
}

/** Why a goal waits. */
export function whyWords(goal: Pick<GoalView, "why" | "failed">, t: TFunction, language: string): string | null {
  if (goal.failed) return goal.failed;
  const why = goal.why;
  switch (why?.type) {
    case undefined:
      return null;
    case "blocked":
      return t("queue.why_blocked", { number: why.number });
    case "unmerged":
      return t("queue.why_unmerged", { number: why.number });
    case "after":
      return t("queue.why_after", { numbers: why.numbers.map((number) => `#${number}`).join(", ") });
    case "account_limited":
      return t("queue.why_account_limited", { account: why.account, time: moment(why.until, language) });
    case "account_used_up":
      return t("queue.why_account_used_up", { account: why.account, time: moment(why.until, language) });
    case "account":
      return t("queue.why_account", { account: why.account, running: why.running, most: why.most });
    case "project":
      return t("queue.why_project", { running: why.running, most: why.most });
    case "machine":
      return t("queue.why_machine", { running: why.running, most: why.most });
    default:
      return t("queue.why_other");
  }
}

/** What happened to a loop in the merge queue, or what is wrong. */
export function entryWords(entry: MergesEntryView, t: TFunction): string | null {
  const why = entry.refused;
  switch (why?.type) {
    case "gate":
      return t("merges.refused_gate", { gate: why.gate });
    case "conflict":
      return t("merges.refused_conflict", { files: why.files.join(", ") });
    case "loop":
      return why.message;
    case "removed":
      return t("merges.refused_removed");
    case "stopped":
      return t("merges.refused_stopped");
    case undefined:
      break;
    default:
      return t("merges.refused_other");
  }
  if (entry.status === "returned") return t("merges.conflicts", { files: entry.conflicts.join(", ") });
  return null;
}

export function pausedWords(queue: Pick<MergesView, "paused">, t: TFunction): string | null {
  const why = queue.paused;
  switch (why?.type) {
    case undefined:
      return null;
    case "target_red":
      return t("merges.paused_target_red", { gate: why.gate });
    case "blocked":
      return why.message;
    default:
      return t("merges.paused_other");
  }
}

export const isOpenQueue = (queue: Pick<MergesView, "stopped_at">) => !queue.stopped_at;
