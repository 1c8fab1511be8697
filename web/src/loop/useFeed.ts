import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import { get, query } from "../api/client";
import { openStream } from "../api/sse";
import type { FeedItem, FeedPage } from "../api/types";
import { setConnection } from "../app/connection";
import { FeedWindow, type Entry } from "../feed/window";
import type { Side } from "../feed/rows";

/** So much of the end is loaded at once, in KiB of output. */
const TAIL = 128;
const PAGE = 128;
/** What comes from the agent itself; everything else is the loop's journal and may change how it stands. */
const LIVE = new Set(["text", "thinking", "tool_use", "tool_result", "session", "usage", "result", "raw", "stderr", "output_skipped"]);

export interface Feed {
  window: FeedWindow;
  older: (side: Side) => void;
  /** Throws the window away and begins at the end. */
  toLive: () => void;
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
    let frame = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let refresh: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
      frame = 0;
      timer = undefined;
      const batch = waiting;
      waiting = [];
      if (batch.length > 0) window.append(batch);
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
        // One paint a frame; a page that is not seen has no frames. Two thousand at once do not wait for either.
        if (waiting.length > 2_000) flush();
        else if (document.hidden) timer ??= setTimeout(flush, 250);
        else if (!frame) frame = requestAnimationFrame(flush);
      },
    });
    return () => {
      close();
      cancelAnimationFrame(frame);
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
      get<FeedPage>(`/api/loops/${encodeURIComponent(id)}/feed${query({ before: end, limit: PAGE })}`)
        .then((page) => {
          let from = page.before;
          const entries = page.items.map((entry) => {
            const made = { id: entry.id, from, item: entry as FeedItem };
            from = entry.id;
            return made;
          });
          window.prepend(end, entries, page.before);
        })
        .catch(() => {
          // Scrolling up, or the button, asks again.
        })
        .finally(() => asking.delete(end));
    },
    [id, window, asking],
  );
  const toLive = useCallback(() => setRound((now) => now + 1), []);
  return useMemo(() => ({ window, older, toLive }), [window, older, toLive]);
}
