// What a loop is doing, in words; and whose turn it is.

import type { TFunction } from "i18next";
import type { LoopView, PauseReason, WaitReason } from "../api/types";
import type { Side } from "../feed/rows";
import { statusName } from "../ui/status";
import { roleName, type RoleName } from "./roles";

/** A loop that awaits a review, or that was paused because its reviewer keeps rejecting the work. */
export const asksForReview = (loop: LoopView) => loop.status === "awaiting_review" || (loop.status === "paused" && loop.pause?.type === "rejections");

export function activeSide(loop: LoopView): Side | null {
  if (loop.status !== "running") return null;
  if (loop.phase === "review") return "reviewer";
  return ["work", "plan", "post_action", "summarise"].includes(loop.phase ?? "") ? "coder" : null;
}

function reasonWords(loop: Doing, t: TFunction): string {
  const reason = loop.stop_reason;
  const status = t(`status.${statusName(loop.status)}`);
  if (!reason || reason.type === "completed") return status;
  const message = "message" in reason && typeof reason.message === "string" ? reason.message : "";
  return withMessage(t("phase.stopped", { status, why: t(`reason.${reason.type}`) }), message);
}

/** Our words for the kind; what follows in brackets is the agent's or the provider's own. */
const withMessage = (words: string, message: string) => (message.trim() ? `${words} (${message.trim()})` : words);

export function waitWords(why: WaitReason, role: RoleName, t: TFunction): string {
  if (why.type === "question") return withMessage(t("wait.question"), why.question);
  return withMessage(why.type === "turn_failed" ? t("wait.turn_failed", { role: role(why.role) }) : t(`wait.${why.type}`), why.message);
}

export function pauseWords(why: PauseReason, t: TFunction): string {
  const words = t("phase.paused", { why: t(`pause.${why.type}`) });
  switch (why.type) {
    case "limit":
      return withMessage(words, t(`reason.${why.limit.type}`));
    case "auth":
    case "disk":
    case "provider_limit":
    case "infrastructure":
    case "reviewer":
      return withMessage(words, why.message);
    case "rejections":
      return withMessage(words, why.reasons.at(-1) ?? "");
    case "person":
    case "review":
      return words;
  }
}

type Doing = Pick<LoopView, "status" | "phase" | "review" | "recipe" | "agent" | "gates" | "stop_reason" | "wait" | "pause" | "outcome">;

export function phaseWords(loop: Doing, t: TFunction): string {
  switch (loop.status) {
    case "running":
      break;
    case "waiting":
      return loop.wait ? waitWords(loop.wait, roleName(loop.recipe, t), t) : t("status.waiting");
    case "awaiting_review":
      return t("phase.awaiting_review");
    case "paused":
      return loop.pause ? pauseWords(loop.pause, t) : t("status.paused");
    case "queued":
      return t("phase.queued");
    case "interrupted":
      return t("phase.interrupted");
    case "completed":
      return loop.outcome ? `${t("status.completed")} · ${t(`completed.${loop.outcome}`)}` : t("status.completed");
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
