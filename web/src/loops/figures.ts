// Figures of loops: of one, and of all that were started on a day.

import type { LoopSummary, LoopView, Usage } from "../api/types";
import { hasFailed } from "../ui/status";

/** All tokens, as a token limit counts them. */
export function tokensOf(usage: Usage): number {
  return usage.input_tokens + usage.output_tokens + usage.reasoning_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
}

/** The models that answered, as far as their agents named them. */
export function modelsOf(usage: LoopView["usage"]): string[] {
  return usage.by_model.map((row) => row.model).filter(Boolean);
}

export interface Totals {
  loops: number;
  /** None if no agent reported a cost. */
  cost: number | null;
  tokens: number;
  verified: number;
  failed: number;
  refused: number;
}

export function totalsSince(loops: readonly LoopSummary[], since: number): Totals {
  const totals: Totals = { loops: 0, cost: null, tokens: 0, verified: 0, failed: 0, refused: 0 };
  for (const loop of loops) {
    if (Date.parse(loop.created_at) < since) continue;
    totals.loops += 1;
    if (loop.usage.cost_usd != null) totals.cost = (totals.cost ?? 0) + loop.usage.cost_usd;
    totals.tokens += tokensOf(loop.usage);
    totals.verified += loop.verified ? 1 : 0;
    totals.failed += hasFailed(loop.status) ? 1 : 0;
    totals.refused += loop.claims.refused;
  }
  return totals;
}

/** The reader's last midnight. */
export function midnight(now: number): number {
  return new Date(now).setHours(0, 0, 0, 0);
}

/** Its own time: what the journal has counted, and what has passed since then while it works. */
export function elapsedOf(loop: Pick<LoopView, "status" | "elapsed_ms" | "updated_at">, now: number): number {
  const running = loop.status === "running" || loop.status === "waiting";
  return loop.elapsed_ms + (running ? Math.max(0, now - Date.parse(loop.updated_at)) : 0);
}
