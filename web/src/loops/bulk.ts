// What is done to many loops at once: to each that takes it, and the others stay as they are.

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Refusal, send } from "../api/client";
import type { LoopSummary } from "../api/types";
import { canResume, isOpen } from "../ui/status";
import { raiseBody, raiseOf } from "./raise";
import { LOOPS } from "./useLoops";

export const BULK = ["pause", "resume", "stop", "clean"] as const;
export type BulkVerb = (typeof BULK)[number];

/** Whether a loop takes it now. Only a loop that has ended has a workspace to remove. */
export function takes(loop: LoopSummary, verb: BulkVerb): boolean {
  switch (verb) {
    case "pause":
      return isOpen(loop.status);
    case "resume":
      return canResume(loop.status);
    case "stop":
      return isOpen(loop.status) || ["paused", "awaiting_review", "interrupted"].includes(loop.status);
    case "clean":
      return ["completed", "exhausted", "stalled", "errored", "cancelled"].includes(loop.status) && Boolean(loop.worktree);
  }
}

/** A loop that stopped at a limit is resumed with as much again. */
function bodyOf(loop: LoopSummary, verb: BulkVerb): object {
  if (verb !== "resume") return {};
  const reached = raiseOf(loop);
  return raiseBody(reached.limit, reached.by);
}

export interface BulkReport {
  done: number;
  failed: { name: string; why: string }[];
}

/** So many requests at a time. */
const AT_ONCE = 4;

export function useBulk(): { run: (loops: readonly LoopSummary[], verb: BulkVerb) => Promise<BulkReport>; left: number } {
  const queries = useQueryClient();
  const [left, setLeft] = useState(0);
  const run = async (loops: readonly LoopSummary[], verb: BulkVerb): Promise<BulkReport> => {
    const report: BulkReport = { done: 0, failed: [] };
    const waiting = [...loops];
    setLeft(waiting.length);
    const work = async () => {
      for (let loop = waiting.shift(); loop; loop = waiting.shift()) {
        try {
          await send("POST", `/api/loops/${encodeURIComponent(loop.id)}/${verb}`, bodyOf(loop, verb));
          report.done += 1;
        } catch (error) {
          report.failed.push({ name: loop.name, why: error instanceof Refusal ? error.problem.message : "" });
        }
        setLeft((now) => now - 1);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    void queries.invalidateQueries({ queryKey: LOOPS });
    return report;
  };
  return { run, left };
}
