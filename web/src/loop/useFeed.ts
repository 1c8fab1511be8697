import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import { getExact, getStream, query } from "../api/client";
import { SseParser, openStream } from "../api/sse";
import type { FeedItem, FeedPage } from "../api/types";
import { setConnection } from "../app/connection";
import { FeedWindow, type Entry } from "../feed/window";
import { RowMaker, textOf, type Side } from "../feed/rows";

/** So much of the end is loaded at once, in KiB of output. */
const TAIL = 128;
const PAGE = 128;
/** What is only searched may come in larger pieces. */
const HUNT = 512;
/** Between two showings of what came. */
const PAUSE_MS = 16;
const HIDDEN_PAUSE_MS = 250;
/** What comes from the agent itself; everything else is the loop's journal and may change how it stands. */
const LIVE = new Set(["text", "thinking", "tool_use", "tool_result", "session", "usage", "result", "raw", "stderr", "output_skipped"]);

/** What shows the usage of a turn that is at work. */
const FIGURES = ["status", "turns", "timeline"];

export interface Feed {
  window: FeedWindow;
  /** Asks for the page in front; says whether that is a new request. */
  older: (side: Side) => boolean;
  /** Throws the window away and begins at the end. */
  toLive: () => void;
  /** Looks through what is older than the window, back to the beginning; where it finds something the window goes there. */
  huntEarlier: Hunt;
  /** The same for what is newer, up to now. */
  huntLater: Hunt;
  /** What somebody asked of the loop and it has not done yet. */
  wish: Wish;
}

export type Wish = "pause" | "stop" | null;
/** What asks for it, and what ends the asking. */
const WISHES: Record<string, Wish> = { pause_requested: "pause", stop_requested: "stop", loop_paused: null, loop_opened: null, loop_stopped: null };

type Hunt = (side: Side, find: string, signal: AbortSignal, onPage: (at: string) => void) => Promise<boolean>;

/** A loop's feed, live, in a window of bounded size. */
export function useFeed(id: string, sides: 1 | 2): Feed {
  const queries = useQueryClient();
  const [round, setRound] = useState(0);
  const [wish, setWish] = useState<Wish>(null);
  // A new window for each round: what it held is garbage then.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const window = useMemo(() => new FeedWindow(sides), [id, sides, round]);
  useEffect(() => {
    let waiting: Entry[] = [];
    let from: string | null = null;
    let shownAt = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let refresh: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      clearTimeout(timer);
      timer = undefined;
      const batch = waiting;
      waiting = [];
      if (batch.length > 0) window.append(batch);
      shownAt = performance.now();
    };
    const close = openStream({
      url: `/api/loops/${encodeURIComponent(id)}/events${query({ tail: TAIL })}`,
      onState: (state) => {
        setConnection(state);
        if (state === "open") void queries.invalidateQueries({ queryKey: ["loop", id] });
      },
      onEvents: (events) => {
        for (const event of events) {
          if (event.event === "start") {
            from = (JSON.parse(event.data) as { before: string | null }).before;
            window.begin(from);
            continue;
          }
          if (event.event !== "message") continue;
          const item = JSON.parse(event.data) as FeedItem;
          waiting.push({ id: event.id, from, item });
          from = event.id;
          const wanted = WISHES[item.type];
          if (wanted !== undefined) setWish(wanted);
          // A figure that moved changes neither the diff nor the findings.
          if (item.type === "usage_reported") for (const part of FIGURES) void queries.invalidateQueries({ queryKey: ["loop", id, part] });
          else if (!LIVE.has(item.type)) refresh ??= setTimeout(() => { refresh = undefined; void queries.invalidateQueries({ queryKey: ["loop", id] }); }, 150);
        }
        // The first line of a while is shown at once, not with the next frame, which a busy machine makes late; what
        // follows on its heels waits, so that the browser comes to paint. Two thousand at once do not wait.
        const pause = (document.hidden ? HIDDEN_PAUSE_MS : PAUSE_MS) - (performance.now() - shownAt);
        if (pause <= 0 || waiting.length > 2_000) flush();
        else timer ??= setTimeout(flush, pause);
      },
    });
    return () => {
      close();
      clearTimeout(timer);
      clearTimeout(refresh);
    };
  }, [id, window, queries]);

  const [asking] = useState(() => new Map<string, Set<Side>>());
  const older = useCallback(
    (side: Side) => {
      const end = window.panes[side].start;
      if (!end) return false;
      const others = asking.get(end);
      if (others) {
        const isNew = !others.has(side);
        others.add(side);
        return isNew;
      }
      const sides = new Set([side]);
      asking.set(end, sides);
      pageBefore(id, end, PAGE)
        .then(({ entries, start }) => window.prepend(sides, end, entries, start))
        .catch(() => {
          // Scrolling up, or the button, asks again.
        })
        .finally(() => asking.delete(end));
      return true;
    },
    [id, window, asking],
  );
  const huntEarlier: Hunt = useCallback(
    async (side, find, signal, onPage) => {
      let end = window.panes[side].start;
      let newer = window.panes[side].items;
      while (end) {
        const { entries, start } = await pageBefore(id, end, HUNT, signal);
        const here = window.of(side, entries);
        if (holds(here, find)) {
          window.jump(side, entries, start, newer);
          return true;
        }
        newer += here.length;
        end = start;
        const oldest = entries[0]?.item.at;
        if (oldest) onPage(oldest);
      }
      return false;
    },
    [id, window],
  );
  const huntLater: Hunt = useCallback(
    async (side, find, signal, onPage) => {
      const pane = window.panes[side];
      const end = pane.end;
      if (!end || pane.cut === 0) return false;
      let passed = 0;
      for await (const entries of pagesAfter(id, end, HUNT, signal)) {
        const here = window.of(side, entries);
        passed += here.length;
        if (holds(here, find)) {
          // At least one stays passed over: only a fresh window joins the live end without a gap or a double line.
          window.jump(side, entries, entries[0]?.from ?? null, Math.max(1, pane.cut - passed));
          return true;
        }
        const newest = entries.at(-1)?.item.at;
        if (newest) onPage(newest);
      }
      return false;
    },
    [id, window],
  );
  const toLive = useCallback(() => setRound((now) => now + 1), []);
  return useMemo(() => ({ window, older, toLive, huntEarlier, huntLater, wish }), [window, older, toLive, huntEarlier, huntLater, wish]);
}

function holds(entries: Entry[], find: string): boolean {
  const maker = new RowMaker();
  return entries.flatMap((entry) => maker.make(entry.id, entry.item)).some((row) => textOf(row).includes(find));
}

/** What there is after a place up to now, in pieces of so many KiB. */
async function* pagesAfter(id: string, after: string, limit: number, signal: AbortSignal): AsyncGenerator<Entry[]> {
  const parser = new SseParser();
  let from = after;
  let page: Entry[] = [];
  let size = 0;
  for await (const text of getStream(`/api/loops/${encodeURIComponent(id)}/events${query({ after, until: "now" })}`, signal)) {
    for (const event of parser.push(text)) {
      if (event.event !== "message") continue;
      page.push({ id: event.id, from, item: JSON.parse(event.data) as FeedItem });
      from = event.id;
      size += event.data.length;
    }
    if (size < limit * 1024) continue;
    yield page;
    page = [];
    size = 0;
  }
  if (page.length > 0) yield page;
}

async function pageBefore(id: string, end: string, limit: number, signal?: AbortSignal): Promise<{ entries: Entry[]; start: string | null }> {
  const page = await getExact<FeedPage>(`/api/loops/${encodeURIComponent(id)}/feed${query({ before: end, limit })}`, signal);
  let from = page.before;
  const entries = page.items.map((item) => {
    const entry = { id: item.cursor, from, item };
    from = item.cursor;
    return entry;
  });
  return { entries, start: page.before };
}
