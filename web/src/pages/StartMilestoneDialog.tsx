import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Refusal, getExact, query, send } from "../api/client";
import type { Demand, LoopView, MilestoneReport, Seen, SettingsView } from "../api/types";
import { Play } from "../ui/icons";
import { Dialog } from "../ui/Dialog";
import { Button, Field, Problem } from "../ui/primitives";
import { AgentOptions, useInstalledAgents } from "./agentChoice";
import { TrustBox, isAgreed, seenOf } from "./TrustBox";

/** Who builds a milestone and who judges it; what the settings say unless somebody chooses. */
export function StartMilestoneDialog({ milestone, project, onClose, onStarted }: { milestone: MilestoneReport; project: string; onClose: () => void; onStarted: () => void }) {
  const { t } = useTranslation();
  const agents = useInstalledAgents(project);
  const settings = useQuery({ queryKey: ["settings", project], queryFn: ({ signal }) => getExact<SettingsView>(`/api/settings${query({ project })}`, signal) });
  const [developer, setDeveloper] = useState("");
  const [acceptor, setAcceptor] = useState("");
  const [agreed, setAgreed] = useState<Seen[] | null>(null);
  const start = useMutation({
    mutationFn: () => send<LoopView>("POST", `/api/milestones/${encodeURIComponent(milestone.id)}/start`, { project, trust: agreed, settings: { ...(developer ? { agent: developer } : {}), ...(acceptor ? { reviewer: acceptor } : {}) } }),
    onSuccess: () => { onStarted(); onClose(); },
  });
  const set = (key: string) => {
    const value = settings.data?.settings.find((row) => row.key === key)?.value;
    return typeof value === "string" ? value : undefined;
  };
  const usual = (name: string | undefined, none: string) => (name ? t("milestones.as_set", { agent: name }) : none);
  const refusal = start.error instanceof Refusal ? start.error.problem : undefined;
  const demands = refusal?.code === "trust_needed" ? (refusal.details as Demand[]) : undefined;
  const shown = seenOf(demands ?? []);
  const faultOf = (field: string) => (refusal?.field === field ? refusal.message : null);
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("milestones.start_title", { title: milestone.title })}
      footer={<><Button onClick={onClose}>{t("action.cancel")}</Button><Button tone="accent" disabled={start.isPending || (demands !== undefined && !isAgreed(agreed, shown))} onClick={() => start.mutate()}><Play className="size-3.5" />{t("milestones.start")}</Button></>}
    >
      <form className="space-y-3" onSubmit={(event) => { event.preventDefault(); start.mutate(); }}>
        <p className="text-sm text-soft">{t("milestones.start_text")}</p>
        <Field label={t("role.developer")} error={faultOf("agent")}>
          <select className="field" value={developer} onChange={(event) => setDeveloper(event.target.value)}>
            <option value="">{usual(set("agent"), t("new.default_agent"))}</option>
            <AgentOptions agents={agents} />
          </select>
        </Field>
        <Field label={t("role.acceptor")} hint={t("milestones.acceptor_hint")} error={faultOf("reviewer")}>
          <select className="field" value={acceptor} onChange={(event) => setAcceptor(event.target.value)}>
            <option value="">{usual(set("reviewer"), t("milestones.same_agent"))}</option>
            <AgentOptions agents={agents} />
          </select>
        </Field>
      </form>
      {start.error && !faultOf("agent") && !faultOf("reviewer") ? <Problem error={start.error} /> : null}
      {demands !== undefined ? <TrustBox demands={demands} trusted={isAgreed(agreed, shown)} onTrust={(on) => setAgreed(on ? shown : null)} /> : null}
    </Dialog>
  );
}
