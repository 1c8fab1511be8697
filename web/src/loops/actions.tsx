// What a person can do to a loop, the same from the list and from the loop's own page.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Suspense, lazy } from "react";
import { useTranslation } from "react-i18next";
import { Refusal, send } from "../api/client";
import type { LoopView, MergeReport } from "../api/types";
import { say, sayProblem } from "../lib/toast";
import { LOOPS } from "./useLoops";

const AskDialog = lazy(() => import("./AskDialog"));
const ForkDialog = lazy(() => import("../loop/ForkDialog"));
const Takeover = lazy(() => import("../loop/Takeover"));

export type Verb = "stop" | "pause" | "resume" | "restart" | "steer" | "approve" | "reject" | "merge" | "rollback" | "continue" | "takeover" | "fork";
export type Target = Pick<LoopView, "id" | "name" | "status" | "iterations"> & Partial<Pick<LoopView, "stop_reason" | "pause" | "branch" | "merge_refused">>;

export function useAct() {
  const { t } = useTranslation();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ loop, verb, body }: { loop: Target; verb: Exclude<Verb, "takeover" | "fork">; body?: object }) => {
      const report = await send(`POST`, `/api/loops/${encodeURIComponent(loop.id)}/${verb}`, body ?? {});
      // A merge with conflicts is an answer of the server, but it is not a merge.
      const merge = verb === "merge" ? (report as MergeReport) : undefined;
      if (merge?.type === "conflicts") throw new Refusal(409, { code: "refused", message: t("merge.conflicts", { target: merge.into }), hint: t("merge.conflicts_hint"), causes: merge.files, field: null, details: null, message_code: null, hint_code: null });
    },
    onSuccess: (_, { loop, verb }) => say(t(`done.${verb}`, { name: loop.name })),
    onError: (error) => sayProblem(error, t),
    onSettled: (_, __, { loop }) => {
      void queries.invalidateQueries({ queryKey: LOOPS });
      void queries.invalidateQueries({ queryKey: ["loop", loop.id] });
    },
  });
}

export interface Asked {
  verb: Verb;
  loop: Target;
  /** Words to begin with. */
  text?: string | undefined;
  /** The iteration that it is about. */
  iteration?: number | undefined;
  /** When it was done, and not only asked. */
  onDone?: (() => void) | undefined;
}

/** The dialog for what needs words or a second thought; the rest happens at once. */
export function ActionDialog({ asked, onClose }: { asked: Asked | null; onClose: () => void }) {
  if (!asked) return null;
  if (asked.verb === "takeover") return <Suspense fallback={null}><Takeover loop={asked.loop} onClose={onClose} /></Suspense>;
  if (asked.verb === "fork") return <Suspense fallback={null}><ForkDialog id={asked.loop.id} iteration={asked.iteration} onClose={onClose} /></Suspense>;
  return <Suspense fallback={null}><AskDialog key={`${asked.verb} ${asked.loop.id}`} asked={asked} verb={asked.verb} onClose={onClose} /></Suspense>;
}
