// What a loop is doing, in words; and whose turn it is.

import type { TFunction } from "i18next";
import type { LoopView } from "../api/types";
import type { Side } from "../feed/rows";

export function activeSide(loop: LoopView): Side | null {
  if (loop.status !== "running") return null;
  if (loop.phase === "review") return "reviewer";
  return ["work", "plan", "post_action", "summarise"].includes(loop.phase ?? "") ? "coder" : null;
}

function reasonWords(loop: Doing, t: TFunction): string {
  const reason = loop.stop_reason;
  if (!reason) return "";
  const message = "message" in reason && typeof reason.message === "string" ? reason.message : "";
  return message ? `${t(`reason.${reason.type}`)}: ${message}` : t(`reason.${reason.type}`);
}

/** How the engine begins its reasons to wait, and our words for them; what follows is the agent's or the provider's own. */
const WAITS = [
  ["rate limit: ", "wait.rate_limit"],
  ["the provider does not answer: ", "wait.provider"],
  ["the agent failed: ", "wait.agent_failed"],
  ["a person asked for a pause", "wait.person"],
  ["a limit was reached: ", "wait.limit"],
  ["the agent is not logged in: ", "wait.auth"],
  ["a person has to say how to go on", "wait.rejections"],
] as const;

function waitWords(why: string, t: TFunction, other: "phase.waiting" | "phase.paused"): string {
  const known = WAITS.find(([begin]) => why.startsWith(begin));
  if (!known) return t(other, { why });
  const [begin, key] = known;
  const more = begin.endsWith(": ") ? why.slice(begin.length).trim() : "";
  return more ? `${t(key)} (${more})` : t(key);
}

type Doing = Pick<LoopView, "status" | "phase" | "review" | "recipe" | "agent" | "gates" | "stop_reason" | "waiting_for">;

export function phaseWords(loop: Doing, t: TFunction): string {
  switch (loop.status) {
    case "running":
      break;
    case "waiting":
      return waitWords(loop.waiting_for ?? "", t, "phase.waiting");
    case "awaiting_review":
      return t("phase.awaiting_review");
    case "paused":
      return waitWords(loop.waiting_for ?? "", t, "phase.paused");
    case "queued":
      return t("phase.queued");
    case "interrupted":
      return t("phase.interrupted");
    default:
      return reasonWords(loop, t);
  }
  const review = loop.review;
  const milestone = review?.kind === "acceptance" || loop.recipe === "milestone";
  switch (loop.phase) {
    case "work":
      return t(milestone ? "phase.developer" : "phase.coder", { agent: loop.agent });
    case "review":
      if (review?.aim.type === "whole" && (milestone || review.sections.length > 1)) return t(milestone ? "phase.final_acceptance" : "phase.final_audit", { agent: review.reviewer });
      return t(milestone ? "phase.acceptor" : "phase.auditor", { agent: review?.reviewer ?? "" });
    case "gates": {
      const done = loop.gates.filter((gate) => gate.verdict).length;
      return t("phase.gates", { number: Math.min(done + 1, loop.gates.length), count: loop.gates.length });
    }
    case null:
    case undefined:
      return t("status.running");
    default:
      return t(`phase.${loop.phase}` as "phase.prepare");
  }
}
