// What a loop is doing, in words; and whose turn it is.

import type { TFunction } from "i18next";
import type { LoopView } from "../api/types";
import type { Side } from "../feed/rows";

export function activeSide(loop: LoopView): Side | null {
  if (loop.status !== "running") return null;
  if (loop.phase === "review") return "reviewer";
  return ["work", "plan", "post_action", "summarise"].includes(loop.phase ?? "") ? "coder" : null;
}

export function reasonWords(loop: LoopView, t: TFunction): string {
  const reason = loop.stop_reason;
  if (!reason) return "";
  const message = "message" in reason && typeof reason.message === "string" ? reason.message : "";
  return message ? `${t(`reason.${reason.type}`)}: ${message}` : t(`reason.${reason.type}`);
}

export function phaseWords(loop: LoopView, t: TFunction): string {
  switch (loop.status) {
    case "running":
      break;
    case "waiting":
      return t("phase.waiting", { why: loop.waiting_for ?? "" });
    case "awaiting_review":
      return t("phase.awaiting_review");
    case "paused":
      return t("phase.paused", { why: loop.waiting_for ?? "" });
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
