// From the form to the request: only what was said is sent, so that everything else keeps its default and its origin.

import type { AgentReport, LoopSummary, RecipeRow, StartLoop } from "../api/types";

export interface LoopForm {
  project: string | null;
  goal: string;
  name: string;
  agent: string;
  agentCommand: string;
  model: string;
  /** Empty for the one that a goal gets by itself. */
  recipe: string;
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
}

export const emptyForm = (): LoopForm => ({
  project: null, goal: "", name: "", agent: "", agentCommand: "", model: "", recipe: "", reviewer: "", reviewerModel: "", gates: "",
  limitIterations: false, maxIterations: 5, budget: "", duration: "", promise: "", protect: "", inPlace: false, humanReview: false,
});

export const linesOf = (text: string) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** The recipes that a goal can be started with. A milestone's has a page of its own. */
export const forGoals = (recipes: readonly RecipeRow[]) => recipes.filter((recipe) => !recipe.hidden && !recipe.fault && recipe.review !== "acceptance");

export const chosenRecipe = (form: Pick<LoopForm, "recipe">, recipes: readonly RecipeRow[]) =>
  recipes.find((recipe) => recipe.name === form.recipe) ?? recipes.find((recipe) => recipe.default_for === "goal");

export function requestOf(form: LoopForm, project: string, recipe?: Pick<RecipeRow, "review">): StartLoop {
  const settings: Record<string, unknown> = {};
  const text = (key: string, value: string) => {
    if (value.trim()) settings[key] = value.trim();
  };
  const own = form.agent === "!command";
  if (!own) text("agent", form.agent);
  text("model", form.model);
  text("recipe", form.recipe);
  if (recipe?.review && form.reviewer) text("reviewer", form.reviewerModel.trim() ? `${form.reviewer}:${form.reviewerModel.trim()}` : form.reviewer);
  if (recipe?.review && form.humanReview) settings["human_review"] = true;
  if (linesOf(form.gates).length > 0) settings["gates"] = linesOf(form.gates);
  if (form.limitIterations) settings["max_iterations"] = form.maxIterations;
  if (form.budget.trim()) settings["budget_usd"] = Number(form.budget);
  text("duration", form.duration);
  text("completion_promise", form.promise);
  if (linesOf(form.protect).length > 0) settings["protect"] = linesOf(form.protect);
  if (form.inPlace) settings["in_place"] = true;
  return {
    project,
    goal: form.goal,
    ...(form.name.trim() ? { name: form.name.trim() } : {}),
    ...(own && form.agentCommand.trim() ? { agent_command: form.agentCommand.trim() } : {}),
    settings,
  } as StartLoop;
}

/** A text with one more line. */
export const withLine = (text: string, line: string) => [...linesOf(text), line].join("\n");

const minutesOf = (ms: number) => `${Math.round(ms / 60_000)}m`;

/** What an earlier loop was started with, as far as it is known; an agent that is gone is not chosen. Hidden gates are not shown. */
export function formOf(loop: LoopSummary, agents: readonly Pick<AgentReport, "name">[], recipes: readonly Pick<RecipeRow, "name">[]): Partial<LoopForm> {
  const known = (name: string | undefined) => (name && agents.some((agent) => agent.name === name) ? name : "");
  const recipe = recipes.some((each) => each.name === loop.recipe) ? loop.recipe : "";
  const { max_iterations: most, budget_usd: budget, duration_ms: longest } = loop.limits;
  return {
    goal: loop.goal, recipe, agent: known(loop.agent), reviewer: known(loop.review?.reviewer),
    gates: loop.gates.filter((gate) => !gate.hidden).map((gate) => gate.command).join("\n"),
    ...(most && most <= 100 ? { limitIterations: true, maxIterations: most } : {}),
    budget: budget ? String(budget) : "", duration: longest ? minutesOf(longest) : "", inPlace: loop.branch === null && loop.iterations > 0,
  };
}

/** The agent that a loop gets if nobody chooses one: what the settings name, or the first built-in one that is installed. */
export function usualAgent(set: unknown, installed: readonly Pick<AgentReport, "name" | "built_in">[]): string | undefined {
  return typeof set === "string" && set ? set : installed.find((agent) => agent.built_in)?.name;
}

/** What the form shows as chosen. Where nothing is usual, the first agent there is; without any, a command. */
export function chosenAgent(form: Pick<LoopForm, "agent">, usual: string | undefined, installed: readonly Pick<AgentReport, "name">[]): string {
  return form.agent || (usual ? "" : (installed[0]?.name ?? "!command"));
}
