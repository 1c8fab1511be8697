// A refusal in the page's language: the server's sentences by their codes, or, where it has none, what kind it is and which
// part of the request is meant, with the sentence itself, which is English.

import type { TFunction } from "i18next";
import i18next from "i18next";
import { wordsOf } from "../i18n/server";
import type { Problem } from "./types";

/** Parts of a request that have a name on the page. */
const FIELDS: Record<string, string> = {
  project: "new.project", goal: "new.goal", name: "new.name", agent: "new.agent", agent_command: "new.own_command", model: "new.model", reviewer: "new.reviewer", gates: "new.gates",
  max_iterations: "new.limit_iterations", budget_usd: "new.budget", duration: "new.duration", completion_promise: "card.promise", message: "ask.message", reason: "ask.reason", iteration: "loop.iteration", target: "merge.into",
};

type Told = Pick<Problem, "code" | "message" | "field"> & Partial<Pick<Problem, "message_code" | "hint" | "hint_code">>;

/** The words to show first, and the rest. */
export function problemWords(problem: Told, t: TFunction): string[] {
  const words = wordsOf(problem.message_code, problem.message);
  if (words !== problem.message || i18next.language.startsWith("en")) return [words];
  const field = FIELDS[problem.field ?? ""];
  const kind = t(`problem.${problem.code}`, { defaultValue: "" });
  if (!kind) return [problem.message];
  return [field ? t("problem.at", { field: t(field as "new.goal"), problem: kind }) : kind, problem.message];
}

/** What to do about it. */
export function hintWords(problem: Told): string | undefined {
  return problem.hint ? wordsOf(problem.hint_code, problem.hint) : undefined;
}
