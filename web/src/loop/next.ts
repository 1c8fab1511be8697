// What happens next, in one sentence.

import type { TFunction } from "i18next";
import type { LoopView } from "../api/types";
import { moment } from "../lib/format";
import type { Wish } from "./useFeed";

export function nextWords(loop: LoopView, wish: Wish, t: TFunction, language: string): string {
  switch (loop.status) {
    case "running":
      if (wish) return t(wish === "pause" ? "next.pausing" : "next.stopping");
      if (loop.phase === "gates") return t(loop.review ? "next.gates_review" : "next.gates");
      if (loop.phase === "review") return t("next.review");
      return loop.phase === "work" ? t(loop.gates.length > 0 ? "next.work_gates" : "next.work", { count: loop.gates.length }) : t("next.step");
    case "waiting":
      return loop.waiting_until ? t("next.retry", { time: moment(loop.waiting_until, language) }) : t("next.waiting");
    case "queued":
      return t("next.queued");
    case "awaiting_review":
      return t("next.approve");
    case "paused":
    case "interrupted":
    case "cancelled":
      return t("next.resume");
    case "exhausted":
      return t("next.raise");
    case "completed":
      if (loop.merge_refused) return t("next.merge_refused");
      if (loop.merged) return t("next.nothing");
      return loop.branch && loop.outcome !== "unchanged" ? t(loop.verified ? "next.merge" : "next.look") : t("next.nothing");
    default:
      return t("next.failed");
  }
}
