import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { useTranslation } from "react-i18next";
import { get, isUnauthorised } from "../api/client";
import type { AgentReport, DoctorReport } from "../api/types";
import { Unauthorised } from "../app/Unauthorised";
import { serverWords } from "../i18n/server";
import { useItemKeys } from "../lib/keys";
import { useTitle } from "../lib/title";
import { Check, Cross, Robot, Warn } from "../ui/icons";
import { Empty, Loading, Problem } from "../ui/primitives";
import { useWorkers } from "../workers/useWorkers";

export function AgentsPage() {
  const { t } = useTranslation();
  useTitle(t("nav.agents"));
  useItemKeys();
  const agents = useQuery({ queryKey: ["agents", ""], queryFn: ({ signal }) => get<AgentReport[]>("/api/agents", signal), staleTime: 30_000 });
  const doctor = useQuery({ queryKey: ["doctor"], queryFn: ({ signal }) => get<DoctorReport>("/api/doctor", signal), staleTime: 30_000 });
  const workers = useWorkers().data ?? [];
  if (isUnauthorised(agents.error)) return <Unauthorised />;
  const sorted = [...(agents.data ?? [])].sort((one, other) => Number(other.installed ?? false) - Number(one.installed ?? false));
  return (
    <div className="mx-auto max-w-6xl px-3 py-4 sm:px-5">
      <div className="mb-3 flex items-baseline gap-3"><h1>{t("nav.agents")}</h1>{workers.length > 0 ? <Link to="/workers" className="text-sm text-accent underline">{t("nav.workers")} ({workers.length})</Link> : null}</div>
      {agents.isPending ? <Loading /> : null}
      {agents.error ? <Problem error={agents.error} onRetry={() => void agents.refetch()} /> : null}
      {agents.data?.length === 0 ? <Empty icon={<Robot />} title={t("agents.none")} /> : null}
      <ul className="grid grid-cols-1 gap-2.5 sm:grid-cols-2 xl:grid-cols-3">
        {sorted.map((agent) => (
          <li key={agent.name} data-item tabIndex={-1} className="card flex gap-3 px-3 py-2.5">
            <span aria-hidden className={clsx("mt-0.5 flex size-8 shrink-0 items-center justify-center rounded-md", agent.installed ? "bg-good-soft text-good" : "bg-idle-soft text-idle")}><Robot /></span>
            <div className="min-w-0 text-sm">
              <h2 className="flex flex-wrap items-baseline gap-x-2">{agent.display_name ?? agent.name} {agent.display_name && agent.display_name !== agent.name ? <code className="text-xs font-normal text-faint">{agent.name}</code> : null}</h2>
              <p className={clsx("text-xs", agent.installed ? "text-good" : "text-soft")}>
                {t(agent.installed ? (agent.built_in ? "agents.built_in" : "agents.installed") : "agents.missing")}
                {agent.version ? <span className="text-soft"> · {agent.version}</span> : null}
                {agent.known_good ? <span className="text-faint"> · {t("agents.tried", { from: agent.known_good.from, below: agent.known_good.below })}</span> : null}
              </p>
              {agent.path ? <p className="truncate font-mono text-xs text-faint" title={agent.path}>{agent.path}</p> : null}
              {agent.login && agent.installed ? <p className="mt-1 text-xs text-soft">{t("agents.login")}: <code className="break-words">{agent.login}</code></p> : null}
              {agent.problem ? <p className={clsx("mt-1 text-xs [overflow-wrap:anywhere]", agent.installed ? "text-bad" : "text-soft")}>{serverWords(agent.problem)}</p> : null}
            </div>
          </li>
        ))}
      </ul>
      <h1 className="mt-8 mb-3">{t("agents.machine")}</h1>
      {doctor.isPending ? <Loading /> : null}
      {doctor.error ? <Problem error={doctor.error} onRetry={() => void doctor.refetch()} /> : null}
      {doctor.data ? <ul className="card divide-y divide-line">
        {doctor.data.findings.map((finding, index) => (
          <li key={index} className="grid grid-cols-[1.25rem_minmax(0,1fr)] gap-x-2 px-3 py-2 text-sm sm:grid-cols-[1.25rem_9rem_minmax(0,1fr)]">
            <State state={finding.state} />
            <span className="font-medium">{t(`doctor.what_${finding.what as "git"}`, { defaultValue: finding.what })}</span>
            <span className="col-start-2 break-words text-soft sm:col-start-3">{serverWords(finding.detail)}{finding.fix ? <span className="block text-ink">{serverWords(finding.fix)}</span> : null}</span>
          </li>
        ))}
      </ul> : null}
    </div>
  );
}

const STATES = { ok: { icon: Check, tone: "text-good" }, warning: { icon: Warn, tone: "text-wait" }, problem: { icon: Cross, tone: "text-bad" } } as const;

function State({ state }: { state: keyof typeof STATES }) {
  const { t } = useTranslation();
  const { icon: Icon, tone } = STATES[state];
  return <Icon label={t(`doctor.${state}`)} className={clsx("mt-0.5", tone)} />;
}
