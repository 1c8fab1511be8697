// What the engine did, between what the agents said.

import clsx from "clsx";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { FeedItem } from "../api/types";
import { bytes, clock, commit, duration } from "../lib/format";
import { Chevron, Commit, Eye, Flag, Gate, Message } from "../ui/icons";
import { plain } from "./ansi";

type Tone = "plain" | "good" | "bad" | "wait" | "ask";
const TONES: Record<Tone, string> = {
  plain: "border-line text-soft", good: "border-good bg-good-soft text-good", bad: "border-bad bg-bad-soft text-bad", wait: "border-wait bg-wait-soft text-wait", ask: "border-ask bg-ask-soft text-ask",
};

function Line({ tone = "plain", icon, children, at, more }: { tone?: Tone; icon?: ReactNode; children: ReactNode; at: string; more?: string | undefined }) {
  const { i18n } = useTranslation();
  const [open, setOpen] = useState(false);
  return (
    <div className={clsx("mx-3 my-1 rounded border px-2 py-1 text-xs", TONES[tone])}>
      <div className="flex items-start gap-2">
        {icon ? <span className="mt-px shrink-0">{icon}</span> : null}
        <span className="min-w-0 grow break-words">{children}</span>
        {more ? (
          <button type="button" aria-expanded={open} onClick={() => setOpen(!open)} className="shrink-0"><Chevron className={clsx("size-3.5", open && "rotate-90")} /><span className="sr-only">+</span></button>
        ) : null}
        <time className="figures shrink-0 opacity-90" dateTime={at}>{clock(at, i18n.language)}</time>
      </div>
      {open && more ? <pre tabIndex={0} className="output mt-1 max-h-80 overflow-auto rounded bg-panel p-2 text-ink">{more.split("\n").map(plain).join("\n")}</pre> : null}
    </div>
  );
}

export function EventLine({ item }: { item: FeedItem }) {
  const { t } = useTranslation();
  const at = item.at;
  switch (item.type) {
    case "iteration_started":
      return (
        <div role="heading" aria-level={3} className="mx-3 mt-4 mb-1 flex items-center gap-3 text-xs font-semibold text-brass">
          <span>{t("feed.iteration", { number: item.iteration })}</span><span aria-hidden className="h-px grow bg-line" />
        </div>
      );
    case "turn_ended": {
      const outcome = item.report.outcome as { type: string; message?: string };
      if (outcome.type === "finished") return <Line at={at} icon={item.report.claim ? <Flag className="size-3.5" /> : undefined} tone={item.report.claim ? "ask" : "plain"}>{t(item.report.claim ? "feed.claimed" : "feed.turn_ended", { role: t(`role.${item.turn.role}`), duration: duration(item.report.duration_ms ?? 0) })}</Line>;
      return <Line at={at} tone="bad">{t("feed.turn_failed", { role: t(`role.${item.turn.role}`), outcome: outcome.type })}{outcome.message ? `: ${outcome.message}` : ""}</Line>;
    }
    case "checkpointed": {
      const made = item.checkpoint;
      if (!made.created) return <Line at={at} icon={<Commit className="size-3.5" />}>{t("feed.nothing_changed")}</Line>;
      return <Line at={at} icon={<Commit className="size-3.5" />} more={made.files.map((file) => `${file.change} ${file.path}`).join("\n") || undefined}>{t("feed.committed", { commit: commit(made.commit ?? ""), count: made.files_changed })}{(made.restored ?? []).length > 0 ? ` · ${t("feed.restored", { count: (made.restored ?? []).length })}` : ""}</Line>;
    }
    case "gate_ended":
      return <Line at={at} icon={<Gate className="size-3.5" />} tone={item.report.verdict === "pass" ? "good" : "bad"} more={item.report.output_tail || undefined}>{item.report.verdict === "pass" ? "✓" : "✗"} <code>{item.report.command}</code>{item.gate.iteration === 0 ? ` · ${t("feed.on_base")}` : ""} · {duration(item.report.duration_ms)}</Line>;
    case "claim_refused":
      return <Line at={at} tone="bad" icon={<Flag className="size-3.5" />}><strong>{t("feed.claim_refused")}</strong> {item.because.type === "gates" ? t("feed.because_gates", { gates: item.because.failing.join(", ") }) : t("feed.because_steering")}</Line>;
    case "finding_written":
      return <Line at={at} tone={item.finding.severity === "bug" ? "bad" : "wait"} icon={<Eye className="size-3.5" />}><strong>{t(`severity.${item.finding.severity}`)}</strong> <code>{item.finding.file}{item.finding.line ? `:${item.finding.line}` : ""}</code> {item.finding.description}</Line>;
    case "finding_resolved":
      return <Line at={at} tone="good" icon={<Eye className="size-3.5" />}>{t("feed.finding_resolved", { id: String(item.id) })}</Line>;
    case "reviewed": {
      const ruling = item.ruling;
      const good = ruling.type === "clean" || ruling.type === "accepted";
      return <Line at={at} tone={good ? "good" : "bad"} icon={<Eye className="size-3.5" />}><strong>{good ? "✓" : "✗"} {t(`ruling.${ruling.type}`)}</strong>{"reason" in ruling ? ` ${ruling.reason}` : ""}</Line>;
    }
    case "rejected_unseen":
      return <Line at={at} tone="bad"><strong>{t("ruling.rejected")}</strong> {item.reason}</Line>;
    case "review_skipped":
      return <Line at={at} tone="wait">{t(`skipped.${item.because.type}`)}</Line>;
    case "wait_started":
      return <Line at={at} tone="wait">{t("feed.wait", { why: item.why })}</Line>;
    case "loop_paused":
      return <Line at={at} tone="ask">{t("status.paused")}: {t(`pause.${item.why.type}`)}</Line>;
    case "person_ruled":
      return <Line at={at} tone={item.approved ? "good" : "bad"}>{t(item.approved ? "feed.person_approved" : "feed.person_rejected")}{item.reason ? `: ${item.reason}` : ""}</Line>;
    case "steering_queued":
      return <Line at={at} tone="ask" icon={<Message className="size-3.5" />}>{t("feed.steered")}: {item.text}</Line>;
    case "loop_stopped":
      return <Line at={at} tone={item.status === "completed" ? "good" : "bad"}><strong>{t(`status.${item.status}`)}</strong>{item.status === "completed" ? (item.verified ? "" : ` · ${t("loop.not_verified")}`) : ` · ${t(`reason.${item.stop_reason.type}`)}`}</Line>;
    case "section_finished":
      return <Line at={at} tone="good" icon={<Flag className="size-3.5" />}>{t("feed.section_finished", { number: item.section, title: item.title })}</Line>;
    case "error":
      return <Line at={at} tone="bad">{item.message || item.kind}</Line>;
    case "result":
      return <Line at={at} tone="bad">{item.text}</Line>;
    case "output_skipped":
      return <Line at={at} tone="wait">{t("feed.skipped", { bytes: bytes(item.bytes) })}</Line>;
    case "agent_changed":
      return <Line at={at} tone="wait">{t("feed.agent_changed", { from: item.from, to: item.to })}: {item.why}</Line>;
    case "turn_interrupted":
      return <Line at={at} tone="wait">{t("feed.interrupted", { why: item.why.type })}</Line>;
    default:
      return <Line at={at}>{named(item.type)}</Line>;
  }
}

/** An event that this page has no words for is shown by its name. */
function named(type: string): string {
  return type.replaceAll("_", " ");
}
