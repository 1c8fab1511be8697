import { useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { get, query } from "../api/client";
import { openStream } from "../api/sse";
import type { LoopList, LoopSummary } from "../api/types";
import { setConnection } from "../app/connection";
import { GROUPS } from "../groups/useGroup";
import { clearly } from "../lib/clear";

export const LOOPS = ["loops"] as const;

async function allLoops(signal: AbortSignal): Promise<LoopSummary[]> {
  const all: LoopSummary[] = [];
  let after: string | null | undefined;
  do {
    const page: LoopList = await get(`/api/loops${query({ limit: 1000, after })}`, signal);
    all.push(...page.loops);
    after = page.next;
  } while (after);
  return all;
}

/** Every loop of every project; `useLiveLoops` keeps them up to date. */
export function useLoops() {
  return useQuery({ queryKey: LOOPS, queryFn: ({ signal }) => allLoops(signal), staleTime: 30_000 });
}

/** Hears of every loop and group that changes. A loop's own page has a stream of its own, and one is enough. */
export function useLiveLoops(wanted: boolean) {
  const queries = useQueryClient();
  useEffect(() => {
    if (!wanted) return;
    let waiting = new Map<string, LoopSummary>();
    let frame: ReturnType<typeof setTimeout> | undefined;
    let groups = false;
    const flush = () => {
      frame = undefined;
      if (waiting.size > 0) merge(queries, waiting);
      if (groups) void queries.invalidateQueries({ queryKey: GROUPS });
      groups = false;
      // A milestone stands as its loop does.
      if ([...waiting.values()].some((loop) => loop.review?.milestone)) void queries.invalidateQueries({ queryKey: ["milestones"] });
      waiting = new Map();
    };
    const close = openStream({
      url: "/api/events?after=now",
      onState: (state) => {
        setConnection(state);
        // What changed before the stream was open is in the list.
        if (state !== "open") return;
        void queries.invalidateQueries({ queryKey: LOOPS });
        void queries.invalidateQueries({ queryKey: GROUPS });
      },
      onEvents: (events) => {
        for (const { event, data } of events) {
          if (event === "group") {
            groups = true;
            continue;
          }
          const loop = JSON.parse(data, clearly) as LoopSummary;
          if (typeof loop.id === "string") waiting.set(loop.id, loop);
        }
        frame ??= setTimeout(flush, 50);
      },
    });
    return () => {
      clearTimeout(frame);
      close();
    };
  }, [queries, wanted]);
}

function merge(queries: QueryClient, news: Map<string, LoopSummary>) {
  queries.setQueryData<LoopSummary[]>(LOOPS, (known) => {
    if (!known) return known;
    const left = new Map(news);
    const next = known.map((loop) => {
      const now = left.get(loop.id);
      left.delete(loop.id);
      return now ?? loop;
    });
    return left.size > 0 ? [...left.values(), ...next] : next;
  });
}
