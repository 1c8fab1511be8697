import type { RJSFSchema } from "@rjsf/utils";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { get, getExact, isUnauthorised, query, send } from "../api/client";
import type { AgentReport, SettingsView } from "../api/types";
import { Unauthorised } from "../app/Unauthorised";
import { LoopSettingsCard, type LoopSettings } from "../forms/LoopSettingsCard";
import { say, sayProblem } from "../lib/toast";
import { useTitle } from "../lib/title";
import { Warn } from "../ui/icons";
import { Loading, Problem } from "../ui/primitives";
import { ProjectPicker } from "./ProjectPicker";
import { useProject } from "./useProjects";

const SchemaForm = lazy(() => import("../forms/SchemaForm").then((module) => ({ default: module.SchemaForm })));

export function SettingsPage() {
  const { t } = useTranslation();
  useTitle(t("nav.settings"));
  const queries = useQueryClient();
  const place = useProject();
  const [layer, setLayer] = useState<"user" | "project">("user");
  const [search, setSearch] = useState("");
  const key = ["settings", place.project];
  const settings = useQuery({ queryKey: key, enabled: place.ready, queryFn: ({ signal }) => getExact<SettingsView>(`/api/settings${query({ project: place.project })}`, signal) });
  const schema = useQuery({ queryKey: ["settings-schema"], queryFn: ({ signal }) => getExact<RJSFSchema>("/api/settings/schema", signal), staleTime: Infinity });
  const agents = useQuery({ queryKey: ["agents", place.project], queryFn: ({ signal }) => get<AgentReport[]>(`/api/agents${query({ project: place.project })}`, signal), staleTime: 60_000 });
  const save = useMutation({
    mutationFn: (changes: Record<string, unknown>) => send<SettingsView>("PUT", `/api/settings/${layer}${query({ project: layer === "project" ? place.project : undefined })}`, changes),
    onSuccess: () => {
      say(t("settings.saved"));
      void queries.invalidateQueries({ queryKey: ["settings"] });
    },
    onError: (error) => sayProblem(error, t),
  });
  const form = useMemo(() => (schema.data ? withoutAgents(schema.data) : undefined), [schema.data]);
  const rows = useMemo(() => settings.data?.settings ?? [], [settings.data]);
  const value = useMemo(() => Object.fromEntries(rows.filter((row) => row.layer === layer && row.value != null && row.key !== "agents" && !row.key.startsWith("agents.")).map((row) => [row.key, row.value])), [rows, layer]);
  const origins = useMemo(() => new Map(rows.map((row) => [row.key, row])), [rows]);
  const profiles = useMemo(() => profilesOf(rows), [rows]);
  if (isUnauthorised(place.error ?? settings.error)) return <Unauthorised />;
  const error = place.error ?? settings.error ?? schema.error;
  const file = layer === "user" ? settings.data?.user_file : settings.data?.project_file;
  const names = [...new Set([...(agents.data ?? []).filter((agent) => agent.installed).map((agent) => agent.name), ...Object.keys(profiles)])];
  return (
    <div className="mx-auto max-w-5xl px-3 py-4 sm:px-5">
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <h1>{t("nav.settings")}</h1>
        <div role="group" aria-label={t("settings.layer")} className="flex overflow-hidden rounded-md border border-line-strong">
          {(["user", "project"] as const).map((name) => (
            <button key={name} type="button" aria-pressed={layer === name} disabled={name === "project" && !place.project} onClick={() => setLayer(name)} className={layer === name ? "min-h-9 bg-accent px-3 text-sm font-medium text-accent-ink" : "min-h-9 bg-panel px-3 text-sm"}>{t(`settings.${name}`)}</button>
          ))}
        </div>
        {layer === "project" ? <ProjectPicker projects={place.projects} value={place.project} onChange={place.choose} /> : null}
      </div>
      {file ? <p className="mb-3 text-xs break-all text-soft"><code>{file}</code></p> : null}
      {(settings.data?.warnings ?? []).map((text, index) => <p key={index} className="mb-2 flex gap-2 rounded bg-wait-soft px-3 py-2 text-sm text-wait"><Warn className="mt-0.5 shrink-0" />{text}</p>)}
      {error ? <Problem error={error} onRetry={() => { void settings.refetch(); void schema.refetch(); }} /> : null}
      {names.length > 0 && settings.data ? (
        <section className="mb-5">
          <h2 className="mb-2">{t("card.title")}</h2>
          <p className="mb-2 text-xs text-soft">{t("card.about")}</p>
          <div className="grid grid-cols-1 gap-2 md:grid-cols-2">
            {names.map((name) => <LoopSettingsCard key={`${layer} ${name} ${JSON.stringify(profiles[name] ?? {})}`} agent={name} value={profiles[name] ?? {}} busy={save.isPending} onSave={(next) => save.mutate({ agents: { [name]: next } })} />)}
          </div>
        </section>
      ) : null}
      {!error && (!form || !settings.data) ? <Loading lines={8} /> : null}
      {form && settings.data ? (
        <Suspense fallback={<Loading lines={8} />}>
          <SchemaForm key={`${layer} ${place.project} ${JSON.stringify(value)}`} search={search} onSearch={setSearch} schema={form} value={value} origins={origins} layer={layer} busy={save.isPending} onSave={(changes) => save.mutate(changes)} />
        </Suspense>
      ) : null}
    </div>
  );
}

/** Agents have cards of their own; the rest is a form. */
function withoutAgents(schema: RJSFSchema): RJSFSchema {
  const properties = Object.fromEntries(Object.entries(schema.properties ?? {}).filter(([name]) => name !== "agents"));
  const whole: RJSFSchema = { ...schema, properties };
  delete whole.$schema;
  delete whole.title;
  return whole;
}

/** The profiles' own loop settings, whether they come as one value or key by key. */
function profilesOf(rows: SettingsView["settings"]): Record<string, LoopSettings> {
  const out: Record<string, Record<string, unknown>> = {};
  for (const row of rows) {
    if (row.key === "agents" && row.value && typeof row.value === "object") {
      for (const [name, profile] of Object.entries(row.value as Record<string, Record<string, unknown>>)) out[name] = { ...out[name], ...profile };
    }
    const part = /^agents\.([^.]+)\.(loop_enabled|max_iterations|completion_promise)$/.exec(row.key);
    if (part) out[part[1] as string] = { ...out[part[1] as string], [part[2] as string]: row.value };
  }
  return out as Record<string, LoopSettings>;
}
