// What belongs to an event beside its line: what was put back, saved, held back, or only happened again.

import type { TFunction } from "i18next";
import type { FeedItem } from "../api/types";
import { serverWords } from "../i18n/server";
import { bytes, commit } from "../lib/format";

export interface Note {
  text: string;
  bad: boolean;
}

/** So many files are named. */
const NAMED = 5;
const MOST_CONFLICTS = 20;

type Turn = Extract<FeedItem, { type: "turn_ended" }>["report"];
type LimitHit = NonNullable<Turn["limits_hit"]>[number];

const wait = (text: string): Note => ({ text, bad: false });
const bad = (text: string): Note => ({ text, bad: true });
const names = (files: readonly { path: string }[]) => files.slice(0, NAMED).map((file) => file.path).join(", ") + (files.length > NAMED ? ", …" : "");
const isOfGit = (path: string) => path === ".git" || path.startsWith(".git/");

function hitWords(hit: LimitHit, t: TFunction): string {
  switch (hit.type) {
    case "memory":
      return t("feed.hit_memory", { limit: hit.limit_bytes == null ? "" : bytes(hit.limit_bytes) }).trim();
    case "processes":
      return t("feed.hit_processes", { limit: hit.limit ?? "" }).trim();
    case "disk":
      return serverWords(hit.message);
  }
}

/** What the command line prints below an event's line. */
export function notesOf(item: FeedItem, t: TFunction): Note[] {
  switch (item.type) {
    case "workspace_opened": {
      const { notes, saved, target } = item.opening;
      return [
        ...(notes ?? []).map((note) => wait(serverWords(note))),
        ...(saved ? [wait(t(target ? "feed.saved_uncommitted" : "feed.saved_turn", { place: saved }))] : []),
        ...(target?.news ? [wait(t("feed.merged_in", { branch: target.branch, commit: commit(target.commit) })), ...(target.conflicts ?? []).slice(0, MOST_CONFLICTS).map((file) => wait(t("feed.conflict_in", { file })))] : []),
      ];
    }
    case "turn_ended": {
      const { put_back: all = [], limits_hit: hits = [], outcome } = item.report;
      const ofGit = all.filter((file) => isOfGit(file.path));
      const others = all.filter((file) => !isOfGit(file.path));
      return [
        ...(ofGit.length > 0 ? [wait(t("feed.put_back_git", { files: names(ofGit) }))] : []),
        ...(others.length > 0 ? [wait(t("feed.put_back", { files: names(others) }))] : []),
        // A failed turn already says which limit it reached.
        ...(outcome.type === "finished" ? hits.map((hit) => wait(hitWords(hit, t))) : []),
      ];
    }
    case "checkpointed": {
      const { restored = [], held_back: held = [], notes = [] } = item.checkpoint;
      return [...(restored.length > 0 ? [wait(t("feed.restored", { files: names(restored) }))] : []), ...held.map((file) => bad(t("feed.held_back", { file }))), ...notes.map((note) => wait(serverWords(note)))];
    }
    case "gate_ended": {
      const { gate, report } = item;
      const changed = report.changed ?? [];
      const passed = report.verdict === "pass";
      const again = gate.iteration === 0 ? (gate.attempt === 1 ? (passed ? null : "feed.gate_again") : passed ? "feed.gate_flaky" : null) : gate.attempt > 1 ? "feed.gate_attempt" : null;
      return [...(again ? [wait(t(again as "feed.gate_attempt", { number: gate.attempt }))] : []), ...(changed.length > 0 ? [wait(t("feed.gate_changed", { files: names(changed) }))] : [])];
    }
    case "rolled_back":
    case "post_action_undone":
      return item.saved ? [wait(t("feed.undone_at", { place: item.saved }))] : [];
    case "progress_stalled":
      return [wait(t(`feed.stall_${item.step}`))];
    case "question_asked":
    case "question_deferred":
      return item.default ? [wait(t("feed.default", { answer: item.default }))] : [];
    default:
      return [];
  }
}
