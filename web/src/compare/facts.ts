// What is compared, row by row. Pure, so that it can be tried.

import type { ComparedLoop } from "../api/types";

/** How many gates passed on the last commit; nothing if there are none. */
export function gatesOf(loop: Pick<ComparedLoop, "gates">, hidden: boolean): { passed: number; pending: number; count: number } | null {
  const gates = loop.gates.filter((gate) => Boolean(gate.hidden) === hidden);
  if (gates.length === 0) return null;
  return { passed: gates.filter((gate) => gate.verdict === "pass").length, pending: gates.filter((gate) => !gate.verdict).length, count: gates.length };
}

/** The loops of the address, each once. */
export function idsOf(text: string | undefined): string[] {
  return [...new Set((text ?? "").split(",").map((id) => id.trim()).filter(Boolean))];
}

export const MOST = 8;

/** What can be compared: two loops or more of one project. */
export function canCompare(loops: readonly { project: string }[]): boolean {
  return loops.length >= 2 && loops.length <= MOST && new Set(loops.map((loop) => loop.project)).size === 1;
}
