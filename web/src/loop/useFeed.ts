import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import { getExact, query } from "../api/client";
import { openStream } from "../api/sse";
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

export interface Feed {
  window: FeedWindow;
  older: (side: Side) => void;
  /** Throws the window away and begins at the end. */
  toLive: () => void;
  /** Looks through what is older than the window, back to the beginning; where it finds something the window goes there. */
  hunt: (side: Side, find: string, signal: AbortSignal, onPage: (at: string) => void) => Promise<boolean>;
}

/** A loop's feed, live, in a window of bounded size. */
export function useFeed(id: string, sides: 1 | 2): Feed {
  const queries = useQueryClient();
  const [round, setRound] = useState(0);
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
          if (!LIVE.has(item.type)) refresh ??= setTimeout(() => { refresh = undefined; void queries.invalidateQueries({ queryKey: ["loop", id] }); }, 150);
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

  const [asking] = useState(() => new Set<string>());
  const older = useCallback(
    (side: Side) => {
      const end = window.panes[side].start;
      if (!end || asking.has(end)) return;
      asking.add(end);
      pageBefore(id, end, PAGE)
        .then(({ entries, start }) => window.prepend(end, entries, start))
        .catch(() => {
          // Scrolling up, or the button, asks again.
        })
        .finally(() => asking.delete(end));
    },
    [id, window, asking],
  );
  const hunt = useCallback(
    async (side: Side, find: string, signal: AbortSignal, onPage: (at: string) => void) => {
      let end = window.panes[side].start;
      let newer = window.panes[side].items;
      while (end) {
        const { entries, start } = await pageBefore(id, end, HUNT, signal);
        const here = window.of(side, entries);
        const maker = new RowMaker();
        const rows = here.flatMap((entry) => maker.make(entry.id, entry.item));
        if (rows.some((row) => textOf(row).includes(find))) {
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
  const toLive = useCallback(() => setRound((now) => now + 1), []);
  return useMemo(() => ({ window, older, toLive, hunt }), [window, older, toLive, hunt]);
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
