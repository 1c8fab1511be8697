import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { TFunction } from "i18next";
import { useDeferredValue, useEffect, useMemo, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Refusal, get, isUnauthorised, query, send } from "../api/client";
import { hintWords, problemWords } from "../api/problem";
import type { AgentReport, LoopView, Preview, RecipeRow, Seen, StartLoop, TriesView } from "../api/types";
import { Unauthorised } from "../app/Unauthorised";
import { serverWords } from "../i18n/server";
import { useTitle } from "../lib/title";
import { Play } from "../ui/icons";
import { Button, Field, Problem, Slider, Switch, Toggle } from "../ui/primitives";
import { AgentOptions, useInstalledAgents, useUsualAgent } from "./agentChoice";
import { EarlierLoop, FoundGates, FoundProtect } from "./NewLoopHelp";
import { PreviewCard } from "./PreviewCard";
import { isAgreed, seenOf } from "./TrustBox";
import { projectName } from "./ProjectPicker";
import { TriesFields } from "./TriesFields";
import { useProject } from "./useProjects";
import { chosenAgent, emptyForm, recipeChoices, requestOf, triesOf, usualAgent, type LoopForm, type RecipeChoice } from "./newLoop";

/** Until the server has said which there are. */
const BUILT_IN: RecipeChoice[] = [{ name: "promise", about: "", own: false, reviewed: false }, { name: "refine", about: "", own: false, reviewed: false }, { name: "audited", about: "", own: false, reviewed: true }];

function useRecipes(project: string): RecipeChoice[] {
  const rows = useQuery({ queryKey: ["recipes", project], enabled: project !== "", retry: false, staleTime: 60_000, queryFn: ({ signal }) => get<RecipeRow[]>(`/api/recipes${query({ project })}`, signal) });
  return rows.data ? recipeChoices(rows.data) : BUILT_IN;
}

export function NewLoopPage() {
  const { t } = useTranslation();
  useTitle(t("new.title"));
  const navigate = useNavigate();
  const place = useProject();
  const [form, setForm] = useState<LoopForm>(emptyForm);
  const [agreed, setAgreed] = useState<Seen[] | null>(null);
  const [otherProject, setOtherProject] = useState(false);
  const project = form.project ?? place.project;
  const installed = useInstalledAgents(project);
  const recipes = useRecipes(project);
  const set = (part: Partial<LoopForm>) => setForm((now) => ({ ...now, ...part }));

  const { known, set: inSettings } = useUsualAgent(project);
  const usual = usualAgent(inSettings, installed);
  const agent = known ? chosenAgent(form, usual, installed) : form.agent;
  const request = useMemo(() => requestOf({ ...form, agent }, project), [form, agent, project]);
  const settled = useSettled(useDeferredValue(request), 350);
  const ready = known && settled.goal.trim() !== "" && settled.project !== "";
  const preview = useQuery({
    queryKey: ["preview", settled],
    enabled: ready,
    queryFn: ({ signal }) => previewOf(settled, signal),
    placeholderData: (before) => before,
    retry: false,
    staleTime: 5_000,
  });
  const shown = seenOf(preview.data?.trust ?? []);
  const trust = isAgreed(agreed, shown);
  const start = useMutation({
    mutationFn: async () => {
      const run = { ...request, ...(trust ? { trust: agreed } : {}) } as StartLoop;
      if (form.tries === 1) return { to: "/loops/$id" as const, id: (await send<LoopView>("POST", "/api/loops", run)).id };
      return { to: "/groups/$id" as const, id: (await send<TriesView>("POST", "/api/groups/tries", triesOf({ ...form, agent }, run, usual))).id };
    },
    onSuccess: ({ to, id }) => void navigate({ to, params: { id } }),
    onError: () => void preview.refetch(),
  });
  const fault = [start.error, preview.error].find((error) => error instanceof Refusal) as Refusal | undefined;
  const faultOf = (...fields: string[]) => (fault?.problem.field && fields.includes(fault.problem.field) ? [...problemWords(fault.problem, t), hintWords(fault.problem)].filter(Boolean).join(" · ") : null);
  const shownFault = ["project", "goal", "name", "agent", "agent_command", "model", "reviewer", "gates", "max_iterations", "budget_usd", "duration", "completion_promise", "recipe", "fallbacks", "protect", "tries", "agents"].includes(fault?.problem.field ?? "");
  if (isUnauthorised(place.error)) return <Unauthorised />;
  const own = agent === "!command";
  // What is previewed is what would be started, and it has no fault.
  const valid = ready && settled === request && preview.isSuccess && !preview.isPlaceholderData && !(preview.data.trust && !trust);
  const submit = () => {
    if (valid && !start.isPending) start.mutate();
  };
  return (
    <form className="mx-auto grid grid-cols-1 max-w-6xl gap-4 px-3 py-4 sm:px-5 lg:grid-cols-[minmax(0,1fr)_24rem]" onSubmit={(event) => { event.preventDefault(); submit(); }}>
      <div className="space-y-4">
        <div className="flex flex-wrap items-center justify-between gap-2"><h1>{t("new.title")}</h1><EarlierLoop project={project} agents={installed} onChoose={set} /></div>
        <Field label={t("new.goal")} hint={t("new.goal_hint")} error={faultOf("goal")}>
          <textarea name="goal" required rows={4} autoFocus className="field" value={form.goal} onChange={(event) => set({ goal: event.target.value })} onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(); }} />
        </Field>
        <Field label={t("new.project")} error={faultOf("project")}>
          {place.projects.length > 0 && !otherProject ? (
            <select name="project" className="field" value={project} onChange={(event) => { if (event.target.value === "!other") { setOtherProject(true); set({ project: "" }); } else { place.choose(event.target.value); set({ project: event.target.value }); } }}>
              {place.projects.map((each) => <option key={each.path} value={each.path}>{projectName(each.path)}</option>)}
              <option value="!other">{t("new.other_project")}</option>
            </select>
          ) : (
            <input name="project" required className="field font-mono" placeholder="/home/me/repository" value={project} onChange={(event) => set({ project: event.target.value })} />
          )}
        </Field>
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <Field label={t("new.agent")} hint={own ? t("new.command_hint") : loginHint(installed.find((each) => each.name === (agent || usual)), t)} error={faultOf("agent", "agent_command")}>
            <select name="agent" className="field" value={agent} onChange={(event) => set({ agent: event.target.value })}>
              {usual || !known ? <option value="">{usual ? t("milestones.as_set", { agent: usual }) : t("state.loading")}</option> : null}
              <AgentOptions agents={installed} />
              <option value="!command">{t("new.own_command")}</option>
            </select>
            {own ? <input name="agent_command" aria-label={t("new.own_command")} className="field mt-1 font-mono" placeholder="./my-agent.sh" value={form.agentCommand} onChange={(event) => set({ agentCommand: event.target.value })} /> : null}
          </Field>
          <Field label={t("new.model")} error={faultOf("model")}>
            <input name="model" className="field" placeholder={t("new.model_default")} value={form.model} onChange={(event) => set({ model: event.target.value })} />
          </Field>
          <Field label={t("new.recipe")} hint={t(`recipe.${form.recipe as "promise"}`, { defaultValue: recipes.find((each) => each.name === form.recipe)?.about ?? "" })} error={faultOf("recipe")}>
            <select name="recipe" className="field" value={form.recipe} onChange={(event) => set({ recipe: event.target.value, reviewed: recipes.find((each) => each.name === event.target.value)?.reviewed ?? false })}>
              {recipes.map(({ name, own }) => <option key={name} value={name}>{own ? name : t(`recipe.name_${name as "promise"}`, { defaultValue: name })}</option>)}
            </select>
          </Field>
          {form.reviewed ? (
            <Field label={t("new.reviewer")} hint={t("new.reviewer_hint")} error={faultOf("reviewer")}>
              <select name="reviewer" className="field" value={form.reviewer} onChange={(event) => set({ reviewer: event.target.value })}>
                <option value="">{t("milestones.same_agent")}</option>
                <AgentOptions agents={installed} />
              </select>
              {form.reviewer ? <input name="reviewer_model" aria-label={t("new.reviewer_model")} className="field mt-1" placeholder={t("new.reviewer_model")} value={form.reviewerModel} onChange={(event) => set({ reviewerModel: event.target.value })} /> : null}
            </Field>
          ) : null}
        </div>
        <Field label={t("new.gates")} hint={t("new.gates_hint")} error={faultOf("gates")}>
          <textarea name="gates" rows={2} className="field font-mono" placeholder="cargo test" value={form.gates} onChange={(event) => set({ gates: event.target.value })} />
          <FoundGates project={project} text={form.gates} onAdd={(gates) => set({ gates })} />
        </Field>
        <div>
          <div className="flex items-center justify-between gap-3">
            <span className="text-sm font-medium">{form.limitIterations ? t("card.max", { count: form.maxIterations }) : t("new.max_default")}</span>
            <Switch label={t("new.limit_iterations")} checked={form.limitIterations} onChange={(on) => set({ limitIterations: on })} />
          </div>
          {form.limitIterations ? <Slider min={1} max={100} label={t("new.limit_iterations")} value={form.maxIterations} onChange={(value) => set({ maxIterations: value })} /> : null}
        </div>
        <TriesFields form={form} agents={installed} own={own} usual={agent || usual} error={faultOf("tries", "agents")} onChange={set} />
        <details className="card px-3 py-2">
          <summary className="text-sm font-medium">{t("new.more")}</summary>
          <div className="mt-3 grid grid-cols-1 gap-4 sm:grid-cols-2">
            <Field label={t("new.name")} hint={t("new.name_hint")} error={faultOf("name")}><input name="name" className="field" pattern="[a-z0-9_\-]+" value={form.name} onChange={(event) => set({ name: event.target.value })} /></Field>
            <Field label={t("new.budget")} hint={form.tries > 1 ? t("tries.budget_hint") : undefined} error={faultOf("budget_usd")}><input name="budget" type="number" min="0" step="0.01" className="field" placeholder={t("new.no_limit")} value={form.budget} onChange={(event) => set({ budget: event.target.value })} /></Field>
            <Field label={t("new.duration")} hint="90m, 2h, 1d" error={faultOf("duration")}><input name="duration" className="field" placeholder={t("new.no_limit")} value={form.duration} onChange={(event) => set({ duration: event.target.value })} /></Field>
            <Field label={t("card.promise")} hint={t("card.promise_hint")} error={faultOf("completion_promise")}><input name="promise" className="field font-mono" placeholder="<promise>COMPLETE</promise>" value={form.promise} onChange={(event) => set({ promise: event.target.value })} /></Field>
            <Field label={t("new.fallback")} hint={t("new.fallback_hint")} error={faultOf("fallbacks")}>
              <select name="fallback" className="field" value={form.fallback} onChange={(event) => set({ fallback: event.target.value })}><option value="">{t("new.fallback_none")}</option><AgentOptions agents={installed.filter((each) => each.name !== (agent || usual))} /></select>
            </Field>
            <Field label={t("new.protect")} hint={t("new.protect_hint")} error={faultOf("protect")}><textarea name="protect" rows={2} className="field font-mono" placeholder="tests/**" value={form.protect} onChange={(event) => set({ protect: event.target.value })} /><FoundProtect project={project} text={form.protect} onAdd={(protect) => set({ protect })} /></Field>
            <div className="space-y-2">
              {form.tries === 1 ? <Toggle label={t("new.in_place")} checked={form.inPlace} onChange={(on) => set({ inPlace: on })} /> : null}
              {form.reviewed ? <Toggle label={t("new.human_review")} checked={form.humanReview} onChange={(on) => set({ humanReview: on })} /> : null}
            </div>
          </div>
        </details>
        {start.error && !(fault && shownFault && start.error === fault) ? <Problem error={start.error} /> : null}
        <Button type="submit" tone="accent" disabled={start.isPending || !valid} className="w-full sm:w-auto"><Play className="size-3.5" />{form.tries > 1 ? t("tries.start", { count: form.tries }) : t("new.start")}</Button>
      </div>
      <PreviewCard preview={preview.data as Preview | undefined} error={ready && !shownFault ? preview.error : null} blocked={shownFault} hasGoal={form.goal.trim() !== ""} busy={preview.isFetching} trusted={trust} onTrust={(on) => setAgreed(on ? shown : null)} />
    </form>
  );
}

/** What is wrong with the agent, or how it is logged in. */
function loginHint(agent: AgentReport | undefined, t: TFunction): ReactNode {
  if (agent?.problem) return <span className="text-bad">{serverWords(agent.problem)}</span>;
  return agent?.login ? <>{t("agents.login")}: <code>{agent.login}</code></> : undefined;
}

async function previewOf(request: StartLoop, signal: AbortSignal): Promise<Preview> {
  signal.throwIfAborted();
  return send<Preview>("POST", "/api/loops/preview", request);
}

/** The value, once it has not changed for a while: typing asks nothing. */
function useSettled<T>(value: T, ms: number): T {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
