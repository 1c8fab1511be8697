// A window on a feed of any length: bounded memory, live at its end, older items fetched when asked for.
//
// A cursor names a place between two items. Each item knows the cursor it begins at, so that the window always knows
// where it begins itself and the page before it joins without a gap or a double line.

import type { FeedItem } from "../api/types";
import { RowMaker, sideOf, type Row, type Side } from "./rows";

export interface Entry {
  /** The cursor right after the item; names its rows. */
  id: string;
  /** The cursor right before it; null at the feed's beginning. */
  from: string | null;
  item: FeedItem;
}

interface Segment {
  from: string | null;
  to: string;
  rows: number;
  /** Characters, roughly what it costs. */
  size: number;
}

export interface Limits {
  rows: number;
  size: number;
}

const LIMITS: Limits = { rows: 20_000, size: 16_000_000 };
/** More than a window holds. */
const RING = 32_768;

/** Names the row of this number as long as it is in the window. Names are used again, so that the virtualiser, which keeps
 * the size of every row it has ever seen, keeps so many at most. */
export const slotOf = (number: number): number => ((number % RING) + RING) % RING;

/** One side's rows. Segments are whole items, so that paging can name where the window begins. */
export class Pane {
  rows: Row[] = [];
  /** So many newer items were passed over: the person reads elsewhere and the window is full. */
  cut = 0;
  following = true;
  /** Where the window begins; undefined before anything is known, null at the feed's beginning. */
  start: string | null | undefined;
  /** The number of the first row, counted from where the window began; below zero for what was put in front. */
  first = 0;
  private segments: Segment[] = [];
  private size = 0;
  private maker = new RowMaker();

  constructor(private readonly limits: Limits) {}

  append(entry: Entry) {
    if (this.cut > 0 || (!this.following && this.isFull())) {
      this.cut += 1;
      return;
    }
    const made = this.maker.make(entry.id, entry.item);
    this.segments.push(this.note(entry, made.length));
    for (const row of made) this.rows.push(row);
  }

  /** Called once after a batch: the oldest go when the window is over its bounds by a tenth. */
  trim() {
    if (this.following && (this.rows.length > this.limits.rows * 1.1 || this.size > this.limits.size * 1.1)) this.dropOldest();
  }

  /** Holds these items and nothing else; so many newer ones are passed over. */
  jump(entries: Entry[], newer: number) {
    this.first += this.rows.length;
    this.rows = [];
    this.segments = [];
    this.size = 0;
    this.following = false;
    this.cut = newer;
    this.prepend(entries);
  }

  /** Where what it holds ends. */
  get end(): string | undefined {
    return this.segments.at(-1)?.to;
  }

  /** How many items it holds or has passed over. */
  get items(): number {
    return this.segments.length + this.cut;
  }

  prepend(entries: Entry[]) {
    const maker = new RowMaker();
    const segments: Segment[] = [];
    const rows: Row[] = [];
    for (const entry of entries) {
      const made = maker.make(entry.id, entry.item);
      segments.push(this.note(entry, made.length));
      for (const row of made) rows.push(row);
    }
    this.rows = rows.concat(this.rows);
    this.first -= rows.length;
    this.segments = segments.concat(this.segments);
    if (!this.isFull()) return;
    // Who follows sees the end, and keeps it.
    if (this.following) this.dropOldest();
    else this.dropNewest();
  }

  private isFull(): boolean {
    return this.rows.length > this.limits.rows || this.size > this.limits.size;
  }

  private note(entry: Entry, rows: number): Segment {
    const item = entry.item as { text?: string; output?: string; input?: string; line?: string };
    const size = 200 + (item.text?.length ?? 0) + (item.output?.length ?? 0) + (item.input?.length ?? 0) + (item.line?.length ?? 0);
    this.size += size;
    return { from: entry.from, to: entry.id, rows, size };
  }

  private dropOldest() {
    let segments = 0;
    let rows = 0;
    while (segments < this.segments.length - 1 && (this.rows.length - rows > this.limits.rows || this.size > this.limits.size)) {
      const gone = this.segments[segments] as Segment;
      segments += 1;
      rows += gone.rows;
      this.size -= gone.size;
    }
    this.segments.splice(0, segments);
    this.rows.splice(0, rows);
    this.first += rows;
    this.start = this.segments[0]?.from;
  }

  private dropNewest() {
    while (this.segments.length > 1 && this.isFull()) {
      const gone = this.segments.pop() as Segment;
      this.rows.splice(this.rows.length - gone.rows);
      this.size -= gone.size;
      this.cut += 1;
    }
    this.maker = new RowMaker();
  }
}

const SIDES = ["coder", "reviewer"] as const;

export class FeedWindow {
  version = 0;
  /** The stream has said where it begins. */
  ready = false;
  readonly panes: Record<Side, Pane>;
  private listeners = new Set<() => void>();

  constructor(
    readonly sides: 1 | 2,
    limits: Limits = LIMITS,
  ) {
    this.panes = { coder: new Pane(limits), reviewer: new Pane(limits) };
  }

  /** The stream begins here. */
  begin(at: string | null) {
    for (const side of SIDES) this.panes[side].start = at;
    this.ready = true;
    this.changed();
  }

  append(entries: Entry[]) {
    for (const entry of entries) for (const side of SIDES) if (this.belongs(entry, side)) this.panes[side].append(entry);
    for (const side of SIDES) this.panes[side].trim();
    this.changed();
  }

  /** A page of items that end at the cursor `end` and begin at `start`, for the sides that asked for it. */
  prepend(sides: Iterable<Side>, end: string, entries: Entry[], start: string | null) {
    for (const side of sides) {
      const pane = this.panes[side];
      if (pane.start !== end) continue;
      pane.start = start;
      pane.prepend(this.of(side, entries));
    }
    this.changed();
  }

  /** Only the side's items of this page are held from now on. */
  jump(side: Side, entries: Entry[], start: string | null, newer: number) {
    this.panes[side].jump(this.of(side, entries), newer);
    this.panes[side].start = start;
    this.changed();
  }

  /** Those that this side shows. */
  of(side: Side, entries: Entry[]): Entry[] {
    return entries.filter((entry) => this.belongs(entry, side));
  }

  follow(side: Side, following: boolean) {
    const pane = this.panes[side];
    if (pane.following === following) return;
    pane.following = following;
    if (following) pane.trim();
    this.changed();
  }

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  };

  snapshot = () => this.version;

  private belongs(entry: Entry, side: Side): boolean {
    return sideOf(entry.item, this.sides) === side || (this.sides === 2 && entry.item.type === "iteration_started");
  }

  private changed() {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}
