// By how much a limit is raised when a loop that reached it is resumed.

import type { LoopView } from "../api/types";

export type Limit = "max_iterations" | "budget" | "tokens" | "duration";
/** The request's field, and how much of it one step of the form's number is. */
const FIELD: Record<Limit, { field: string; unit: number }> = {
  max_iterations: { field: "max_iterations", unit: 1 },
  budget: { field: "budget_usd", unit: 1 },
  tokens: { field: "max_tokens", unit: 1 },
  duration: { field: "duration_ms", unit: 60_000 },
};

type Stopped = Partial<Pick<LoopView, "stop_reason" | "pause">>;

/** The limit that was reached, and as much again; iterations and nothing for a loop that stopped for another reason. */
export function raiseOf(loop: Stopped): { limit: Limit; by: number } {
  const reason = loop.pause?.type === "limit" ? loop.pause.limit : loop.stop_reason;
  switch (reason?.type) {
    case "max_iterations":
      return { limit: "max_iterations", by: 5 };
    case "budget":
      return { limit: "budget", by: reason.limit_usd };
    case "tokens":
      return { limit: "tokens", by: reason.limit };
    case "duration":
      return { limit: "duration", by: Math.max(1, Math.round(reason.limit_ms / 60_000)) };
    default:
      return { limit: "max_iterations", by: 0 };
  }
}

export function raiseBody(limit: Limit, by: number): object {
  const { field, unit } = FIELD[limit];
  return by > 0 ? { raise: { [field]: by * unit } } : {};
}
