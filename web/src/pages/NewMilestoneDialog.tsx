import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Refusal, send } from "../api/client";
import type { MilestoneBoard } from "../api/types";
import { Dialog } from "../ui/Dialog";
import { Button, Field, Problem, Toggle } from "../ui/primitives";
import { linesOf } from "./newLoop";

export function NewMilestoneDialog({ open, project, onClose, onMade }: { open: boolean; project: string; onClose: () => void; onMade: (board: MilestoneBoard) => void }) {
  const { t } = useTranslation();
  const [form, setForm] = useState({ id: "", title: "", goal: "", features: "", criteria: "", human: false });
  const set = (part: Partial<typeof form>) => setForm((now) => ({ ...now, ...part }));
  const make = useMutation({
    mutationFn: () => send<MilestoneBoard>("POST", "/api/milestones", { project, id: form.id.trim(), title: form.title.trim(), goal: form.goal, features: linesOf(form.features), criteria: linesOf(form.criteria), human_review: form.human }),
    onSuccess: (board) => { onMade(board); onClose(); },
  });
  const field = make.error instanceof Refusal ? make.error.problem.field : null;
  const ready = form.id.trim() && form.title.trim() && form.goal.trim() && linesOf(form.features).length > 0;
  return (
    <Dialog open={open} onClose={onClose} wide title={t("milestones.add")} footer={<><Button onClick={onClose}>{t("action.cancel")}</Button><Button tone="accent" disabled={!ready || make.isPending} onClick={() => make.mutate()}>{t("milestones.add")}</Button></>}>
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <Field label={t("milestones.id")} error={field === "id" ? make.error?.message : null}><input className="field font-mono" value={form.id} onChange={(event) => set({ id: event.target.value })} /></Field>
        <Field label={t("milestones.title")}><input className="field" value={form.title} onChange={(event) => set({ title: event.target.value })} /></Field>
        <div className="sm:col-span-2"><Field label={t("new.goal")}><textarea rows={2} className="field" value={form.goal} onChange={(event) => set({ goal: event.target.value })} /></Field></div>
        <Field label={t("milestones.features")} hint={t("milestones.features_hint")}><textarea rows={4} className="field" value={form.features} onChange={(event) => set({ features: event.target.value })} /></Field>
        <Field label={t("milestones.criteria")} hint={t("milestones.criteria_hint")}><textarea rows={4} className="field" value={form.criteria} onChange={(event) => set({ criteria: event.target.value })} /></Field>
        <div className="sm:col-span-2"><Toggle label={t("new.human_review")} checked={form.human} onChange={(human) => set({ human })} /></div>
      </div>
      {make.error ? <Problem error={make.error} /> : null}
    </Dialog>
  );
}
