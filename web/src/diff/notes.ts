// What stands between the lines of a diff: findings of a reviewer, and comments that become a message to the agent.

import type { FindingsView } from "../api/types";
import { remember, remembered } from "../lib/storage";

export type Side = "before" | "after";

/** Lines of one side of a file. */
export interface Place {
  path: string;
  side: Side;
  from: number;
  to: number;
}

export interface Comment extends Place {
  id: string;
  /** The lines themselves, as they were when they were commented on. */
  quote: readonly string[];
  text: string;
}

export type Finding = FindingsView["findings"][number];

export type Note =
  | { type: "finding"; key: string; side: Side; line: number | null; finding: Finding }
  | { type: "comment"; key: string; side: Side; line: number; comment: Comment }
  | { type: "editor"; key: string; side: Side; line: number; place: Place };

export type Notes = ReadonlyMap<string, readonly Note[]>;

/** Everything by file; a path of a finding may start at the root of the workspace. */
export function notesOf(findings: readonly Finding[], comments: readonly Comment[], editing: Place | null): Notes {
  const notes = new Map<string, Note[]>();
  const add = (path: string, note: Note) => {
    const there = notes.get(path);
    if (there) there.push(note);
    else notes.set(path, [note]);
  };
  for (const finding of findings) if (finding.status.type === "open" && finding.file) add(finding.file.replace(/^(\.\/|[ab]\/(?=.))/, ""), { type: "finding", key: `finding ${String(finding.id)}`, side: "after", line: finding.line ?? null, finding });
  for (const comment of comments) add(comment.path, { type: "comment", key: `comment ${comment.id}`, side: comment.side, line: comment.to, comment });
  if (editing) add(editing.path, { type: "editor", key: "editor", side: editing.side, line: editing.to, place: editing });
  return notes;
}

export const covers = (place: Place | null, path: string, side: Side, line: number | undefined) => place !== null && line !== undefined && place.path === path && place.side === side && line >= place.from && line <= place.to;

/** Another line in the same file and side makes it longer; anything else starts anew. */
export function extended(place: Place | null, path: string, side: Side, line: number): Place {
  if (place?.path !== path || place.side !== side) return { path, side, from: line, to: line };
  return { ...place, from: Math.min(place.from, line), to: Math.max(place.to, line) };
}

/** So many lines of a comment's code are quoted. */
const QUOTED = 12;

export const placeWords = ({ path, from, to }: Place) => `${path}:${from === to ? from : `${from}-${to}`}`;

/** The message that an agent gets: place, code, words. */
export function messageOf(comments: readonly Comment[]): string {
  return comments
    .map((comment) => {
      const quote = comment.quote.slice(0, QUOTED).map((line) => `> ${line}`);
      if (comment.quote.length > QUOTED) quote.push("> …");
      return [`${placeWords(comment)}${comment.side === "before" ? " (removed)" : ""}`, ...quote, comment.text.trim()].join("\n");
    })
    .join("\n\n");
}

const keyOf = (loop: string) => `comments.${loop}`;

/** Comments that were not sent yet; they survive a reload. */
export function keptComments(loop: string): Comment[] {
  try {
    const kept: unknown = JSON.parse(remembered(keyOf(loop)) ?? "[]");
    return Array.isArray(kept) ? (kept as Comment[]) : [];
  } catch {
    return [];
  }
}

export function keepComments(loop: string, comments: readonly Comment[]) {
  remember(keyOf(loop), comments.length > 0 ? JSON.stringify(comments) : null);
}
