// What a person can do to a loop, the same from the list and from the loop's own page.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { send } from "../api/client";
import type { LoopView } from "../api/types";
import { say, sayProblem } from "../lib/toast";
import { Button, Dialog, Field, Problem, Toggle } from "../ui/primitives";
import { LOOPS } from "./useLoops";

export type Verb = "stop" | "pause" | "resume" | "restart" | "steer" | "approve" | "reject" | "merge" | "rollback";
export type Target = Pick<LoopView, "id" | "name" | "status" | "iterations">;

export function useAct() {
  const { t } = useTranslation();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ loop, verb, body }: { loop: Target; verb: Verb; body?: object }) =>
      send(`POST`, `/api/loops/${encodeURIComponent(loop.id)}/${verb}`, body ?? {}),
    onSuccess: (_, { loop, verb }) => {
      say(t(`done.${verb}`, { name: loop.name }));
      void queries.invalidateQueries({ queryKey: LOOPS });
      void queries.invalidateQueries({ queryKey: ["loop", loop.id] });
    },
    onError: (error) => sayProblem(error, t),
  });
}

/** The dialog for what needs words or a second thought; the rest happens at once. */
export function ActionDialog({ asked, onClose }: { asked: { verb: Verb; loop: Target } | null; onClose: () => void }) {
  if (!asked) return null;
  return <Asking key={`${asked.verb} ${asked.loop.id}`} {...asked} onClose={onClose} />;
}

const needsText: Partial<Record<Verb, boolean>> = { steer: true, reject: true };
const mayHaveText: Partial<Record<Verb, boolean>> = { approve: true };

function Asking({ verb, loop, onClose }: { verb: Verb; loop: Target; onClose: () => void }) {
  const { t } = useTranslation();
  const act = useAct();
  const [text, setText] = useState("");
  const [now, setNow] = useState(false);
  const [squash, setSquash] = useState(false);
  const [raise, setRaise] = useState(loop.status === "exhausted" ? 5 : 0);
  const [to, setTo] = useState(Math.max(0, loop.iterations - 1));
  const body = (): object => {
    switch (verb) {
      case "steer": return { message: text, now };
      case "reject": return { reason: text };
      case "approve": return text.trim() ? { reason: text } : {};
      case "merge": return { squash };
      case "resume": return raise > 0 ? { raise: { max_iterations: raise } } : {};
      case "rollback": return { to };
      case "pause": return { now };
      default: return {};
    }
  };
  const ready = !needsText[verb] || text.trim().length > 0;
  const submit = () => ready && act.mutate({ loop, verb, body: body() }, { onSuccess: onClose });
  const danger = verb === "stop" || verb === "reject" || verb === "rollback";
  return (
    <Dialog
      open
      onClose={onClose}
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
        {needsText[verb] || mayHaveText[verb] ? (
          <Field label={t(verb === "steer" ? "ask.message" : "ask.reason")}>
            <textarea rows={4} className="field" value={text} onChange={(event) => setText(event.target.value)} onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(); }} />
          </Field>
        ) : null}
        {verb === "steer" || verb === "pause" ? <Toggle label={t("ask.now")} checked={now} onChange={setNow} /> : null}
        {verb === "merge" ? <Toggle label={t("ask.squash")} checked={squash} onChange={setSquash} /> : null}
        {verb === "resume" ? (
          <Field label={t("ask.raise")} hint={t("ask.raise_hint")}>
            <input type="number" min={0} max={100} className="field" value={raise} onChange={(event) => setRaise(Math.max(0, Number(event.target.value)))} />
          </Field>
        ) : null}
        {verb === "rollback" ? (
          <Field label={t("ask.rollback_to")} hint={t("ask.rollback_hint")}>
            <input type="number" min={0} max={loop.iterations} className="field" value={to} onChange={(event) => setTo(Number(event.target.value))} />
          </Field>
        ) : null}
      </form>
      {act.error ? <Problem error={act.error} /> : null}
    </Dialog>
  );
}
