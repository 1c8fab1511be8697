import type { TFunction } from "i18next";
import type { LoopView, RefusedMerge } from "../api/types";

/** There is something to merge, and nobody has merged it yet: a loop that works on after a merge counts as unmerged. */
export function canMerge(loop: Pick<LoopView, "branch" | "merged" | "head_commit" | "base_commit">): boolean {
  if (!loop.branch || !loop.head_commit || loop.head_commit === loop.base_commit) return false;
  return !loop.merged;
}

/** Why Windlass did not merge, in one line. */
export function refusedMergeWords({ target, why }: RefusedMerge, t: TFunction): string {
  return why.type === "gate" ? t("merge.refused_gate", { target, command: why.command }) : t("merge.refused_conflicts", { target, count: why.files.length });
}
