import type { LoopView } from "../api/types";

type Forkable = Pick<LoopView, "branch" | "base_commit"> & Partial<Pick<LoopView, "history">>;

/** A fork starts from a commit, and a loop that works in a checkout has none of its own. */
export const canFork = (loop: Forkable) => Boolean(loop.branch && loop.base_commit);

/** The iterations that a fork can start from; 0 is where the loop started. */
export function forkPoints(loop: Forkable): number[] {
  if (!canFork(loop)) return [];
  return [0, ...(loop.history ?? []).filter((record) => !record.undone && record.checkpoint.commit).map((record) => record.iteration)];
}

export interface ForkForm {
  at: number;
  agent: string;
  model: string;
  goal: string;
  name: string;
}

/** Only what was said: everything else is as in the parent. */
export function forkBody(form: ForkForm): { at: number; settings: Record<string, string>; goal?: string; name?: string } {
  const [goal, name, model] = [form.goal.trim(), form.name.trim(), form.model.trim()];
  return { at: form.at, settings: { ...(form.agent ? { agent: form.agent } : {}), ...(model ? { model } : {}) }, ...(goal ? { goal } : {}), ...(name ? { name } : {}) };
}
