// From the form to the request: only what was said is sent, so that everything else keeps its default and its origin.

import type { AgentReport, LoopSummary, RecipeRow, StartLoop, StartTries } from "../api/types";

/** Who makes a try; the loop's own agent and model where nothing is said. */
export interface TryChoice {
  agent: string;
  model: string;
}

export interface LoopForm {
  project: string | null;
  goal: string;
  name: string;
  agent: string;
  agentCommand: string;
  model: string;
  /** A built-in one, or one of the user or the project. */
  recipe: string;
  /** The recipe has a reviewer. */
  reviewed: boolean;
  fallback: string;
  reviewer: string;
  reviewerModel: string;
  gates: string;
  limitIterations: boolean;
  maxIterations: number;
  budget: string;
  duration: string;
  promise: string;
  protect: string;
  inPlace: boolean;
  humanReview: boolean;
  /** One is a loop; more are tries of which the best is picked. */
  tries: number;
  tryChoices: readonly TryChoice[];
  /** Stop the others when one is verified. */
  first: boolean;
  losers: "keep" | "drop";
}

export const emptyForm = (): LoopForm => ({
  project: null, goal: "", name: "", agent: "", agentCommand: "", model: "", recipe: "promise", reviewed: false, fallback: "", reviewer: "", reviewerModel: "", gates: "",
  limitIterations: false, maxIterations: 5, budget: "", duration: "", promise: "", protect: "", inPlace: false, humanReview: false,
  tries: 1, tryChoices: [], first: false, losers: "keep",
});

export const MOST_TRIES = 16;

export const linesOf = (text: string) => text.split("\n").map((line) => line.trim()).filter(Boolean);

export function requestOf(form: LoopForm, project: string): StartLoop {
  const settings: Record<string, unknown> = {};
  const text = (key: string, value: string) => {
    if (value.trim()) settings[key] = value.trim();
  };
  const own = form.agent === "!command";
  if (!own) text("agent", form.agent);
  text("model", form.model);
  if (form.recipe !== "promise") settings["recipe"] = form.recipe;
  if (form.reviewed && form.reviewer) text("reviewer", form.reviewerModel.trim() ? `${form.reviewer}:${form.reviewerModel.trim()}` : form.reviewer);
  if (form.reviewed && form.humanReview) settings["human_review"] = true;
  if (form.fallback) settings["fallbacks"] = [form.fallback];
  if (linesOf(form.gates).length > 0) settings["gates"] = linesOf(form.gates);
  if (form.limitIterations) settings["max_iterations"] = form.maxIterations;
  if (form.budget.trim()) settings["budget_usd"] = Number(form.budget);
  text("duration", form.duration);
  text("completion_promise", form.promise);
  if (linesOf(form.protect).length > 0) settings["protect"] = linesOf(form.protect);
  if (form.inPlace && form.tries === 1) settings["in_place"] = true;
  return {
    project,
    goal: form.goal,
    ...(form.name.trim() ? { name: form.name.trim() } : {}),
    ...(own && form.agentCommand.trim() ? { agent_command: form.agentCommand.trim() } : {}),
    settings,
  } as StartLoop;
}

/** The choice of each try. */
export const choicesOf = (form: Pick<LoopForm, "tries" | "tryChoices">): TryChoice[] => Array.from({ length: form.tries }, (_, index) => form.tryChoices[index] ?? { agent: "", model: "" });

/** The tries as they are started. Agents are named only if somebody chose one, and then for each try. */
export function triesOf(form: LoopForm, run: StartLoop, usual: string | undefined): StartTries {
  const choices = choicesOf(form);
  const more = { tries: form.tries, first: form.first, losers: form.losers };
  const own = form.agent || usual;
  if (form.agent === "!command" || !own || choices.every(({ agent, model }) => !agent && !model.trim())) return { run, agents: [], ...more } as StartTries;
  // The model of the form is meant for its own agent, and not for another one.
  const settings = Object.fromEntries(Object.entries(run.settings ?? {}).filter(([key]) => key !== "model"));
  const agents = choices.map(({ agent, model }) => {
    const wanted = model.trim() || (agent && agent !== own ? "" : form.model.trim());
    return `${agent || own}${wanted ? `:${wanted}` : ""}`;
  });
  return { run: { ...run, settings }, agents, ...more } as StartTries;
}

/** A text with one more line. */
export const withLine = (text: string, line: string) => [...linesOf(text), line].join("\n");

const minutesOf = (ms: number) => `${Math.round(ms / 60_000)}m`;

/** What an earlier loop was started with, as far as it is known; an agent that is gone is not chosen. Hidden gates are not shown. */
export function formOf(loop: LoopSummary, agents: readonly Pick<AgentReport, "name">[]): Partial<LoopForm> {
  const known = (name: string | undefined) => (name && agents.some((agent) => agent.name === name) ? name : "");
  const recipe = loop.recipe === "milestone" ? "promise" : loop.recipe;
  const reviewed = recipe === loop.recipe && Boolean(loop.review);
  const { max_iterations: most, budget_usd: budget, duration_ms: longest } = loop.limits;
  return {
    goal: loop.goal, recipe, reviewed, agent: known(loop.agent), reviewer: reviewed ? known(loop.review?.reviewer) : "",
    gates: loop.gates.filter((gate) => !gate.hidden).map((gate) => gate.command).join("\n"),
    ...(most && most <= 100 ? { limitIterations: true, maxIterations: most } : {}),
    budget: budget ? String(budget) : "", duration: longest ? minutesOf(longest) : "", inPlace: loop.branch === null && loop.iterations > 0,
  };
}

/** The agent that a loop gets if nobody chooses one: what the settings name, or what the server takes then. */
export function usualAgent(set: unknown, installed: readonly Pick<AgentReport, "name" | "usual">[]): string | undefined {
  return typeof set === "string" && set ? set : installed.find((agent) => agent.usual)?.name;
}

/** What the form shows as chosen. Where nothing is usual, the first agent there is; without any, a command. */
export function chosenAgent(form: Pick<LoopForm, "agent">, usual: string | undefined, installed: readonly Pick<AgentReport, "name">[]): string {
  return form.agent || (usual ? "" : (installed[0]?.name ?? "!command"));
}

/** A recipe, what it is for, and whether somebody reviews in it. One that extends another does as that one. */
export interface RecipeChoice {
  name: string;
  about: string;
  own: boolean;
  reviewed: boolean;
}

export function recipeChoices(rows: readonly Pick<RecipeRow, "name" | "about" | "source" | "extends" | "hidden" | "fault">[]): RecipeChoice[] {
  const usable = rows.filter((row) => !row.hidden && !row.fault && row.name !== "milestone");
  const audits = (name: string | null | undefined, seen: readonly string[] = []): boolean => {
    if (!name || seen.includes(name)) return false;
    return name === "audited" || audits(usable.find((row) => row.name === name)?.extends, [...seen, name]);
  };
  return usable.map((row) => ({ name: row.name, about: row.about, own: row.source !== "built_in", reviewed: audits(row.name) }));
}
