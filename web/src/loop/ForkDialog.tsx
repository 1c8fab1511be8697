import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Refusal, get, send } from "../api/client";
import { hintWords, problemWords } from "../api/problem";
import type { Demand, LoopView, Seen } from "../api/types";
import { say } from "../lib/toast";
import { LOOPS } from "../loops/useLoops";
import { AgentOptions, useInstalledAgents } from "../pages/agentChoice";
import { TrustBox, isAgreed, seenOf } from "../pages/TrustBox";
import { Branch } from "../ui/icons";
import { Dialog } from "../ui/Dialog";
import { Button, Field, Loading, Problem } from "../ui/primitives";
import { forkBody, forkPoints, type ForkForm } from "./fork";

/** A new loop from a checkpoint of this one, with another agent, model or goal. */
export default function ForkDialog({ id, iteration, onClose }: { id: string; iteration: number | undefined; onClose: () => void }) {
  const { t } = useTranslation();
  const view = useQuery({ queryKey: ["loop", id, "status"], queryFn: ({ signal }) => get<LoopView>(`/api/loops/${encodeURIComponent(id)}`, signal) });
  if (!view.data) return <Dialog open onClose={onClose} title={t("action.fork")}>{view.error ? <Problem error={view.error} /> : <Loading lines={4} />}</Dialog>;
  return <Form loop={view.data} iteration={iteration} onClose={onClose} />;
}

const FIELDS = ["agent", "model", "goal", "name", "iteration"];

function Form({ loop, iteration, onClose }: { loop: LoopView; iteration: number | undefined; onClose: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const agents = useInstalledAgents(loop.project);
  const points = forkPoints(loop);
  const [form, setForm] = useState<ForkForm>({ at: iteration ?? points.at(-1) ?? 0, agent: "", model: "", goal: "", name: "" });
  const [agreed, setAgreed] = useState<Seen[] | null>(null);
  const set = (part: Partial<ForkForm>) => setForm((now) => ({ ...now, ...part }));
  const start = useMutation({
    mutationFn: () => send<LoopView>("POST", `/api/loops/${encodeURIComponent(loop.id)}/fork`, { ...forkBody(form), trust: agreed }),
    onSuccess: (fork) => {
      void queries.invalidateQueries({ queryKey: LOOPS });
      say(t("fork.started", { name: fork.name }));
      onClose();
      void navigate({ to: "/loops/$id", params: { id: fork.id } });
    },
  });
  const refusal = start.error instanceof Refusal ? start.error.problem : undefined;
  const demands = refusal?.code === "trust_needed" ? (refusal.details as Demand[]) : undefined;
  const shown = seenOf(demands ?? []);
  const faultOf = (field: string) => (refusal?.field === field ? [...problemWords(refusal, t), hintWords(refusal)].filter(Boolean).join(" · ") : null);
  const ready = !start.isPending && (demands === undefined || isAgreed(agreed, shown));
  return (
    <Dialog open wide onClose={onClose} title={t("fork.title", { name: loop.name })} footer={<><Button onClick={onClose}>{t("action.cancel")}</Button><Button tone="accent" disabled={!ready} onClick={() => start.mutate()}><Branch className="size-3.5" />{t("action.fork")}</Button></>}>
      <form data-fork className="space-y-3" onSubmit={(event) => { event.preventDefault(); if (ready) start.mutate(); }}>
        <p className="text-sm text-soft">{t("fork.text")}</p>
        <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
          <Field label={t("fork.at")} error={faultOf("iteration")}>
            <select name="at" className="field" value={form.at} onChange={(event) => set({ at: Number(event.target.value) })}>
              {points.map((number) => <option key={number} value={number}>{number === 0 ? t("rollback.base") : t("feed.iteration", { number })}</option>)}
            </select>
          </Field>
          <Field label={t("new.name")} hint={t("fork.name_hint")} error={faultOf("name")}><input name="name" className="field" pattern="[a-z0-9_\-]+" placeholder={`${loop.name}-fork`} value={form.name} onChange={(event) => set({ name: event.target.value })} /></Field>
          <Field label={t("new.agent")} error={faultOf("agent")}>
            <select name="agent" className="field" value={form.agent} onChange={(event) => set({ agent: event.target.value })}>
              <option value="">{t("fork.as_parent", { value: loop.agent })}</option>
              <AgentOptions agents={agents} />
            </select>
          </Field>
          <Field label={t("new.model")} error={faultOf("model")}><input name="model" className="field" placeholder={form.agent ? t("new.model_default") : (loop.model ?? t("new.model_default"))} value={form.model} onChange={(event) => set({ model: event.target.value })} /></Field>
        </div>
        <Field label={t("new.goal")} hint={t("fork.goal_hint")} error={faultOf("goal")}><textarea name="goal" rows={3} className="field" placeholder={loop.goal} value={form.goal} onChange={(event) => set({ goal: event.target.value })} /></Field>
      </form>
      {start.error && !demands && !FIELDS.includes(refusal?.field ?? "") ? <Problem error={start.error} /> : null}
      {demands ? <TrustBox demands={demands} trusted={isAgreed(agreed, shown)} onTrust={(on) => setAgreed(on ? shown : null)} /> : null}
    </Dialog>
  );
}
