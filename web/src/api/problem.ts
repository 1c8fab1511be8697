// A refusal in the page's language: what kind it is and which part of the request is meant. The server's own sentence, which
// is English, follows as the detail.

import type { TFunction } from "i18next";
import i18next from "i18next";
import type { Problem } from "./types";

/** Parts of a request that have a name on the page. */
const FIELDS: Record<string, string> = {
  project: "new.project", goal: "new.goal", name: "new.name", agent: "new.agent", agent_command: "new.own_command", model: "new.model", reviewer: "new.reviewer", gates: "new.gates",
  max_iterations: "new.limit_iterations", budget_usd: "new.budget", duration: "new.duration", completion_promise: "card.promise", message: "ask.message", reason: "ask.reason", iteration: "loop.iteration", target: "merge.into",
};

/** The words to show first, and the rest. In English the server has said it all. */
export function problemWords(problem: Pick<Problem, "code" | "message" | "field">, t: TFunction): string[] {
  if (i18next.language.startsWith("en")) return [problem.message];
  const field = FIELDS[problem.field ?? ""];
  const kind = t(`problem.${problem.code}`, { defaultValue: "" });
  if (!kind) return [problem.message];
  return [field ? t("problem.at", { field: t(field as "new.goal"), problem: kind }) : kind, problem.message];
}
