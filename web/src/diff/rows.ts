// A diff as a flat list of rows, so that only those in sight are in the page.

import type { FileDiff } from "../api/types";
import { isGenerated } from "./languages";
import type { Note, Notes } from "./notes";
import { parsePatch, type DiffLine } from "./patch";

export type DiffMode = "unified" | "split";

export type DiffRow =
  | { type: "file"; key: string; file: FileDiff; open: boolean; generated: boolean }
  | { type: "note"; key: string; note: "binary" | "cut" | "no_lines" }
  | { type: "hunk"; key: string; text: string }
  /** In a unified view one of them; `other` is the line that it replaces or is replaced by. */
  | { type: "line"; key: string; path: string; line: DiffLine; other?: DiffLine | undefined }
  | { type: "pair"; key: string; path: string; before?: DiffLine | undefined; after?: DiffLine | undefined }
  | { type: "between"; key: string; note: Note }
  | { type: "more"; key: string; file: FileDiff; hidden: number };

/** A file of more lines is cut until somebody asks for the rest. */
export const SHOWN_LINES = 400;
/** A change of more lines starts folded. */
export const FOLDED_LINES = 1_500;

const generated = new WeakMap<FileDiff, boolean>();
export function wasGenerated(file: FileDiff): boolean {
  let is = generated.get(file);
  if (is === undefined) {
    is = isGenerated(file.path, file.patch);
    generated.set(file, is);
  }
  return is;
}

export const startsFolded = (file: FileDiff, files: number) => file.added + file.removed > FOLDED_LINES || files > 60 || wasGenerated(file);

const parsed = new WeakMap<FileDiff, DiffLine[]>();
/** The lines of a file's hunks; what git says in front of them is in the file's own row. */
export function linesOf(file: FileDiff): DiffLine[] {
  let lines = parsed.get(file);
  if (!lines) {
    const all = parsePatch(file.patch);
    const first = all.findIndex((line) => line.kind === "hunk");
    lines = first < 0 ? [] : all.slice(first);
    parsed.set(file, lines);
  }
  return lines;
}

/** Lines that replace each other stand beside each other: the first removed and the first added, and so on. */
function paired(lines: readonly DiffLine[], key: string, mode: DiffMode): DiffRow[] {
  const rows: DiffRow[] = [];
  const name = () => `${key}/${rows.length}`;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as DiffLine;
    if (line.kind === "hunk") rows.push({ type: "hunk", key: name(), text: line.text });
    if (line.kind === "same" || line.kind === "note") rows.push(mode === "split" && line.kind === "same" ? { type: "pair", key: name(), path: key, before: line, after: line } : { type: "line", key: name(), path: key, line });
    if (line.kind !== "add" && line.kind !== "remove") {
      at += 1;
      continue;
    }
    let end = at;
    while (lines[end]?.kind === "remove") end += 1;
    const removed = lines.slice(at, end);
    at = end;
    while (lines[end]?.kind === "add") end += 1;
    const added = lines.slice(at, end);
    at = end;
    if (mode === "split") for (let index = 0; index < Math.max(removed.length, added.length); index += 1) rows.push({ type: "pair", key: name(), path: key, before: removed[index], after: added[index] });
    else {
      removed.forEach((each, index) => rows.push({ type: "line", key: name(), path: key, line: each, other: added[index] }));
      added.forEach((each, index) => rows.push({ type: "line", key: name(), path: key, line: each, other: removed[index] }));
    }
  }
  return rows;
}

export interface Unfolded {
  /** By path; what is not named is as it starts. */
  open: ReadonlyMap<string, boolean>;
  /** Files that are shown whole. */
  whole: ReadonlySet<string>;
}

/** The numbers of a row's line before and after. */
const numbersOf = (row: DiffRow) => (row.type === "line" ? { before: row.line.before, after: row.line.after } : row.type === "pair" ? { before: row.before?.before, after: row.after?.after } : {});

/** Each note follows its line; what has no line that is shown stands under the file's head. */
function withNotes(rows: readonly DiffRow[], notes: readonly Note[]): DiffRow[] {
  const between = (note: Note): DiffRow => ({ type: "between", key: note.key, note });
  const left = new Set(notes);
  const placed = rows.flatMap((row) => {
    const numbers = numbersOf(row);
    const here = [...left].filter((note) => note.line !== null && numbers[note.side] === note.line);
    for (const note of here) left.delete(note);
    return [row, ...here.map(between)];
  });
  return [...[...left].map(between), ...placed];
}

const NOTHING: Notes = new Map();

export function rowsOf(files: readonly FileDiff[], mode: DiffMode, { open, whole }: Unfolded, notes: Notes = NOTHING): DiffRow[] {
  return files.flatMap((file): DiffRow[] => {
    const key = file.path;
    const here = notes.get(key) ?? [];
    const isOpen = open.get(key) ?? (here.length > 0 || !startsFolded(file, files.length));
    const head: DiffRow = { type: "file", key, file, open: isOpen, generated: wasGenerated(file) };
    if (!isOpen) return [head];
    if (file.binary) return [head, { type: "note", key: `${key}/binary`, note: "binary" }];
    const lines = linesOf(file);
    const shown = whole.has(key) ? lines : lines.slice(0, SHOWN_LINES);
    const rows: DiffRow[] = [head, ...withNotes(paired(shown, key, mode), here)];
    if (lines.length === 0) rows.push({ type: "note", key: `${key}/no_lines`, note: "no_lines" });
    if (lines.length > shown.length) rows.push({ type: "more", key: `${key}/more`, file, hidden: lines.length - shown.length });
    else if (file.cut) rows.push({ type: "note", key: `${key}/cut`, note: "cut" });
    return rows;
  });
}
