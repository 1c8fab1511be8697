import type { LoopView } from "../api/types";

/** There is something to merge, and nobody has merged it yet: a loop that works on after a merge counts as unmerged. */
export function canMerge(loop: Pick<LoopView, "branch" | "merged" | "head_commit" | "base_commit">): boolean {
  if (!loop.branch || !loop.head_commit || loop.head_commit === loop.base_commit) return false;
  return !loop.merged;
}
