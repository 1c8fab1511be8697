import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Refusal, send } from "../api/client";
import type { AddedGoals, Demand, GoalView, ProjectView, Seen } from "../api/types";
import { GROUPS } from "../groups/useGroup";
import { say } from "../lib/toast";
import { AgentOptions, useInstalledAgents } from "../pages/agentChoice";
import { linesOf } from "../pages/newLoop";
import { projectName } from "../pages/ProjectPicker";
import { TrustBox, isAgreed, seenOf } from "../pages/TrustBox";
import { Plus } from "../ui/icons";
import { Dialog } from "../ui/Dialog";
import { Button, Field, Problem, Toggle } from "../ui/primitives";

/** Goals for the queue, a line each; all of them are added, or none. */
export function AddGoalsDialog({ projects, project: first, goals, onClose }: { projects: ProjectView[]; project: string; goals: readonly GoalView[]; onClose: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [project, setProject] = useState(first);
  const [form, setForm] = useState({ text: "", agent: "", gates: "", budget: "", after: "", inOrder: false });
  const [agreed, setAgreed] = useState<Seen[] | null>(null);
  const set = (part: Partial<typeof form>) => setForm((now) => ({ ...now, ...part }));
  const agents = useInstalledAgents(project);
  const lines = linesOf(form.text);
  const add = useMutation({
    mutationFn: () => {
      const gates = linesOf(form.gates);
      const settings = { ...(form.agent ? { agent: form.agent } : {}), ...(gates.length > 0 ? { gates } : {}), ...(form.budget.trim() ? { budget_usd: Number(form.budget) } : {}) };
      return send<AddedGoals>("POST", "/api/queue", { in_order: form.inOrder, goals: lines.map((goal) => ({ run: { project, goal, settings, ...(agreed ? { trust: agreed } : {}) }, after: form.after ? [form.after] : [] })) });
    },
    onSuccess: (added) => {
      void queries.invalidateQueries({ queryKey: GROUPS });
      say(t("queue.added", { count: added.goals.length }), { hint: added.notes[0] });
      onClose();
    },
  });
  const refusal = add.error instanceof Refusal ? add.error.problem : undefined;
  const demands = refusal?.code === "trust_needed" ? (refusal.details as Demand[]) : undefined;
  const shown = seenOf(demands ?? []);
  const ready = lines.length > 0 && project !== "" && !add.isPending && (demands === undefined || isAgreed(agreed, shown));
  return (
    <Dialog open wide onClose={onClose} title={t("queue.add")} footer={<><Button onClick={onClose}>{t("action.cancel")}</Button><Button tone="accent" disabled={!ready} onClick={() => add.mutate()}><Plus className="size-3.5" />{t("queue.add")}</Button></>}>
      <form className="space-y-3" onSubmit={(event) => { event.preventDefault(); if (ready) add.mutate(); }}>
        <Field label={t("queue.goals")} hint={t("queue.goals_hint")}><textarea name="goals" rows={5} className="field" value={form.text} onChange={(event) => set({ text: event.target.value })} /></Field>
        <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
          <Field label={t("new.project")}><select name="project" className="field" value={project} onChange={(event) => setProject(event.target.value)}>{projects.map((each) => <option key={each.path} value={each.path}>{projectName(each.path)}</option>)}</select></Field>
          <Field label={t("new.agent")}><select name="agent" className="field" value={form.agent} onChange={(event) => set({ agent: event.target.value })}><option value="">{t("new.default_agent")}</option><AgentOptions agents={agents} /></select></Field>
          <Field label={t("new.gates")} hint={t("new.gates_hint")}><textarea name="gates" rows={2} className="field font-mono" placeholder="cargo test" value={form.gates} onChange={(event) => set({ gates: event.target.value })} /></Field>
          <Field label={t("new.budget")}><input name="budget" type="number" min="0" step="0.01" className="field" placeholder={t("new.no_limit")} value={form.budget} onChange={(event) => set({ budget: event.target.value })} /></Field>
          <Field label={t("queue.depends")}><select name="after" className="field" value={form.after} onChange={(event) => set({ after: event.target.value })}><option value="">{t("queue.depends_none")}</option>{goals.map((goal) => <option key={goal.number} value={goal.number}>#{goal.number} {goal.name ?? goal.goal.slice(0, 60)}</option>)}</select></Field>
        </div>
        <Toggle label={t("queue.in_order")} checked={form.inOrder} onChange={(inOrder) => set({ inOrder })} />
      </form>
      {add.error && !demands ? <Problem error={add.error} /> : null}
      {demands ? <TrustBox demands={demands} trusted={isAgreed(agreed, shown)} onTrust={(on) => setAgreed(on ? shown : null)} /> : null}
    </Dialog>
  );
}
