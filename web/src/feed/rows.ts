// From items of the feed to what a pane shows, line by line.

import type { FeedItem, TurnKey } from "../api/types";
import { clearly } from "../lib/clear";
import { parseLine, plain, type Style } from "./ansi";
import { isClosing, isOpening } from "./review";

export type Side = "coder" | "reviewer";

interface Base {
  key: string;
  at: string;
}

export interface TextRow extends Base {
  /** A review is all the lines of the block that a reviewer hands its work in with, as far as they have come. */
  kind: "text" | "stderr" | "raw" | "thinking" | "review";
  text: string;
  /** The style that the line begins with. */
  style: Style;
  /** It is in a block of code, or opens or closes one: no Markdown in it. */
  code?: boolean;
}

export interface ToolRow extends Base {
  kind: "tool";
  id: string;
  name: string;
  input: string;
  output?: string;
  failed?: boolean;
}

export interface EventRow extends Base {
  kind: "event";
  item: FeedItem;
}

export type Row = TextRow | ToolRow | EventRow;

/** What nobody needs to see as an event: other rows or other parts of the page show it. */
export const SILENT_TYPES = [
  "session_found", "session", "usage", "usage_reported", "account", "account_reported", "loop_created", "workspace_set_up", "queue_left", "not_tried", "decisions_told", "iteration_judged",
  "text", "thinking", "tool_use", "tool_result", "raw", "stderr",
] as const;
export type SilentType = (typeof SILENT_TYPES)[number];
const SILENT = new Set<string>(SILENT_TYPES);

/** Phases whose beginning is told. The others take no time, or their turn begins with words of its own. */
export const TOLD_PHASES = ["setup", "baseline", "plan", "gates", "review", "post_action"] as const;
export type ToldPhase = (typeof TOLD_PHASES)[number];

/** Whether the engine's event has something to say to a person. */
export function isShown(item: FeedItem): boolean {
  switch (item.type) {
    case "residue_checked":
      return item.left.length > 0;
    case "phase_entered":
      return (TOLD_PHASES as readonly string[]).includes(item.phase);
    case "turn_started":
      return (item.turn.attempt > 1 && item.turn.role === "coder") || item.session.type === "fresh_instead";
    default:
      return !SILENT.has(item.type);
  }
}
const REVIEWERS = new Set(["auditor", "acceptor"]);
/** A line longer than this is broken: no browser lays out a megabyte in one. */
const LONGEST = 2_000;
/** A block longer than this goes on as lines. */
const LONGEST_BLOCK = 64_000;

export function turnOf(item: FeedItem): TurnKey | undefined {
  const turn = (item as { turn?: unknown }).turn;
  return turn && typeof turn === "object" && "role" in turn ? (turn as TurnKey) : undefined;
}

export function sideOf(item: FeedItem, sides: 1 | 2): Side {
  const turn = turnOf(item);
  return sides === 2 && turn && REVIEWERS.has(turn.role) ? "reviewer" : "coder";
}

/** Makes the rows of one side; remembers what a later item may continue. */
export class RowMaker {
  /** The row whose last line goes on in the next item. */
  private open: TextRow | undefined;
  /** The review block that is being written. */
  private block: TextRow | undefined;
  private style: Style = {};
  /** What opened the block of code that is being written. */
  private fence: string | undefined;
  private tools = new Map<string, ToolRow>();
  /** Said once: every later turn starts anew, too. */
  private saidFresh = false;

  make(id: string, item: FeedItem): Row[] {
    const at = item.at;
    switch (item.type) {
      case "text":
        return this.lines(id, at, "text", item.text, REVIEWERS.has(item.turn.role));
      case "thinking":
        return this.closed(() => this.lines(id, at, "thinking", item.text));
      case "raw":
        return this.closed(() => this.lines(id, at, "raw", item.line));
      case "stderr":
        return this.lines(id, at, "stderr", item.text);
      case "tool_use": {
        this.end();
        const row: ToolRow = { key: id, at, kind: "tool", id: item.id, name: item.name, input: item.input };
        if (item.id) {
          this.tools.set(item.id, row);
          if (this.tools.size > 256) this.tools.delete(this.tools.keys().next().value as string);
        }
        return [row];
      }
      case "tool_result": {
        this.end();
        const call = this.tools.get(item.id);
        if (call) {
          this.tools.delete(item.id);
          call.output = item.output;
          call.failed = item.is_error;
          return [];
        }
        return [{ key: id, at, kind: "tool", id: item.id, name: "", input: "", output: item.output, failed: item.is_error }];
      }
      case "result":
        if (!item.is_error) return [];
        break;
      default:
    }
    if (!isShown(item)) return [];
    if (item.type === "turn_started" && item.session.type === "fresh_instead") {
      if (this.saidFresh && item.turn.attempt === 1) return [];
      this.saidFresh = true;
    }
    this.end();
    return [{ key: id, at, kind: "event", item: JSON.parse(JSON.stringify(item), clearly) as FeedItem }];
  }

  private end() {
    this.open = undefined;
    this.block = undefined;
    this.fence = undefined;
    this.style = {};
  }

  private closed(make: () => Row[]): Row[] {
    this.end();
    const rows = make();
    this.end();
    return rows;
  }

  private lines(id: string, at: string, kind: TextRow["kind"], text: string, reviews = false): Row[] {
    const rows: Row[] = [];
    const pieces = text.split("\n");
    const ended = pieces.at(-1) === "";
    if (ended) pieces.pop();
    pieces.forEach((piece, index) => {
      const whole = ended || index < pieces.length - 1;
      if (reviews && this.block && this.grow(this.block, piece, whole)) return;
      let rest = piece;
      const open = this.open;
      if (index === 0 && open && open.kind === kind && open.text.length < LONGEST) {
        const room = LONGEST - open.text.length;
        open.text += rest.slice(0, room);
        rest = rest.slice(room);
        this.style = parseLine(open.text, open.style).style;
        if (!rest) {
          if (whole) this.ended(open, reviews);
          return;
        }
      }
      for (let part = 0; part === 0 || rest; part += 1) {
        const row: TextRow = { key: `${id}/${index}.${part}`, at, kind, text: rest.slice(0, LONGEST), style: this.style };
        if (this.fence) row.code = true;
        rest = rest.slice(LONGEST);
        if (row.text.includes("\u001b")) this.style = parseLine(row.text, this.style).style;
        rows.push(row);
      }
      if (whole) this.ended(rows.at(-1) as TextRow, reviews);
    });
    const last = rows.at(-1) as TextRow | undefined;
    if (ended) this.open = undefined;
    else if (last && !(reviews && this.block)) this.open = last;
    return rows;
  }

  /** The line is complete. */
  private ended(line: TextRow, reviews: boolean) {
    if (reviews) this.begin(line);
    if (line.kind !== "text") return;
    const fence = /^ {0,3}(`{3,}|~{3,})/.exec(line.text)?.[1];
    if (!fence) return;
    if (!this.fence) this.fence = fence;
    else if (fence.startsWith(this.fence) && line.text.trim() === fence) this.fence = undefined;
    line.code = true;
  }

  /** From here on it is a review, if the line opens one. */
  private begin(line: TextRow) {
    if (!isOpening(line.text)) return;
    line.kind = "review";
    this.block = line;
    this.open = undefined;
  }

  /** The block gets its next line, or more of the last; not if it is too long for one row. */
  private grow(block: TextRow, piece: string, whole: boolean): boolean {
    if (block.text.length + piece.length > LONGEST_BLOCK) {
      this.end();
      return false;
    }
    block.text += this.open === block ? piece : `\n${piece}`;
    this.open = whole ? undefined : block;
    const { text } = block;
    if (whole && isClosing(text.slice(text.lastIndexOf("\n") + 1), text.slice(0, text.indexOf("\n")))) this.block = undefined;
    return true;
  }
}

/** What a search looks through. */
export function textOf(row: Row): string {
  if (row.kind === "event") return JSON.stringify(row.item).toLowerCase();
  if (row.kind === "tool") return `${row.name} ${row.input} ${row.output ?? ""}`.toLowerCase();
  return row.text.split("\n").map(plain).join("\n").toLowerCase();
}
