// What a person can do to a loop, the same from the list and from the loop's own page.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Suspense, lazy, useState } from "react";
import { useTranslation } from "react-i18next";
import { Refusal, send } from "../api/client";
import type { LoopView, MergeReport } from "../api/types";
import { say, sayProblem } from "../lib/toast";
import { Button, Dialog, Field, Loading, Problem, Toggle } from "../ui/primitives";
import { raiseBody, raiseOf } from "./raise";
import { LOOPS } from "./useLoops";

const MergeFacts = lazy(() => import("../loop/MergeFacts"));
const RollbackChoice = lazy(() => import("../loop/RollbackChoice"));
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
  return <Asking key={`${asked.verb} ${asked.loop.id}`} asked={asked} verb={asked.verb} onClose={onClose} />;
}

const TEMPLATES = ["goal", "tests", "scope", "quality"] as const;
const needsText: Partial<Record<Verb, boolean>> = { steer: true, reject: true };
const mayHaveText: Partial<Record<Verb, boolean>> = { approve: true, continue: true };

function Asking({ asked: { loop, text: first, onDone }, verb, onClose }: { asked: Asked; verb: Exclude<Verb, "takeover" | "fork">; onClose: () => void }) {
  const { t } = useTranslation();
  const act = useAct();
  const reached = raiseOf(loop);
  const [text, setText] = useState(first ?? "");
  const [now, setNow] = useState(false);
  const [squash, setSquash] = useState(false);
  const [into, setInto] = useState("");
  const [raise, setRaise] = useState(reached.by);
  const [to, setTo] = useState<number | null>(null);
  const body = (): object => {
    switch (verb) {
      case "steer": return { message: text, now };
      case "reject": return { reason: text };
      case "approve": return text.trim() ? { reason: text } : {};
      case "merge": return { squash, ...(into.trim() ? { into: into.trim() } : {}) };
      case "continue": return { ...(text.trim() ? { goal: text } : {}), ...(loop.merge_refused ? { into: loop.merge_refused.target } : {}) };
      case "resume": return raiseBody(reached.limit, raise);
      case "rollback": return { to };
      case "pause": return { now };
      default: return {};
    }
  };
  const ready = (!needsText[verb] || text.trim().length > 0) && (verb !== "rollback" || to !== null);
  const submit = () => ready && act.mutate({ loop, verb, body: body() }, { onSuccess: () => { onDone?.(); onClose(); } });
  const danger = verb === "stop" || verb === "reject" || verb === "rollback";
  return (
    <Dialog
      open
      onClose={onClose}
      wide={verb === "rollback" || verb === "merge" || Boolean(first)}
      title={t(`ask.${verb}.title`, { name: loop.name })}
      footer={
        <>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button tone={danger ? "danger" : "accent"} disabled={!ready || act.isPending} onClick={submit}>{t(`action.${verb}`)}</Button>
        </>
      }
    >
      <form className="space-y-3" onSubmit={(event) => { event.preventDefault(); submit(); }}>
        <p className="text-sm text-soft">{t(`ask.${verb}.text`)}</p>
        {verb === "merge" ? <Suspense fallback={<Loading lines={2} />}><MergeFacts loop={loop} into={into} onInto={setInto} /></Suspense> : null}
        {verb === "rollback" ? <Suspense fallback={<Loading lines={3} />}><RollbackChoice loop={loop} to={to} onChoose={setTo} /></Suspense> : null}
        {needsText[verb] || mayHaveText[verb] ? (
          <Field label={t(verb === "steer" ? "ask.message" : verb === "continue" ? "ask.new_goal" : "ask.reason")}>
            <textarea rows={first ? 12 : 4} className="field" value={text} onChange={(event) => setText(event.target.value)} onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(); }} />
          </Field>
        ) : null}
        {verb === "reject" ? (
          <div role="group" aria-label={t("ask.templates")} className="flex flex-wrap gap-1.5">
            {TEMPLATES.map((name) => <Button key={name} small onClick={() => setText((now) => `${now.trimEnd()}${now.trim() ? "\n" : ""}${t(`ask.template_${name}_text`)} `)}>{t(`ask.template_${name}`)}</Button>)}
          </div>
        ) : null}
        {verb === "steer" || verb === "pause" ? <Toggle label={t("ask.now")} checked={now} onChange={setNow} /> : null}
        {verb === "merge" ? <Toggle label={t("ask.squash")} checked={squash} onChange={setSquash} /> : null}
        {verb === "resume" ? (
          <Field label={t(`raise.${reached.limit}`)} hint={t("ask.raise_hint")}>
            <input type="number" min={0} step="any" className="field" value={raise} onChange={(event) => setRaise(Math.max(0, Number(event.target.value)))} />
          </Field>
        ) : null}
      </form>
      {act.error ? <Problem error={act.error} /> : null}
    </Dialog>
  );
}
