// What the engine did, between what the agents said.

import clsx from "clsx";
import type { TFunction } from "i18next";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { FeedItem } from "../api/types";
import { bytes, clock, commit, duration, moment } from "../lib/format";
import { serverWords } from "../i18n/server";
import { refusedMergeWords } from "../loop/merge";
import { pauseWords, waitWords } from "../loop/phase";
import { useRole } from "../loop/roles";
import { Check, Chevron, Commit, Cross, Eye, Flag, Gate, List, Message, Pause, Stop, Warn } from "../ui/icons";
import { plain } from "./ansi";
import { notesOf } from "./notes";
import type { SilentType, ToldPhase } from "./rows";

type Tone = "plain" | "good" | "bad" | "wait" | "ask";
const TONES: Record<Tone, string> = {
  plain: "border-line text-soft", good: "border-good bg-good-soft text-good", bad: "border-bad bg-bad-soft text-bad", wait: "border-wait bg-wait-soft text-wait", ask: "border-ask bg-ask-soft text-ask",
};

function Line({ tone = "plain", icon: Icon, children, at, more }: { tone?: Tone; icon?: typeof Check; children: ReactNode; at: string; more?: string | undefined }) {
  const { t, i18n } = useTranslation();
  const [open, setOpen] = useState(false);
  return (
    <div className={clsx("mx-3 my-1 rounded-r border-l-[3px] py-1 pr-2 pl-2.5 text-xs", TONES[tone])}>
      <div className="flex items-start gap-2">
        {Icon ? <Icon className="mt-px size-3.5 shrink-0" /> : null}
        <span className="min-w-0 grow break-words">{children}</span>
        {more ? (
          <button type="button" aria-expanded={open} aria-label={t("feed.details")} onClick={() => setOpen(!open)} className="-my-0.5 shrink-0 rounded p-0.5"><Chevron className={clsx("size-3.5", open && "rotate-90")} /></button>
        ) : null}
        <time className="figures shrink-0 opacity-90" dateTime={at}>{clock(at, i18n.language)}</time>
      </div>
      {open && more ? <pre tabIndex={0} className="output mt-1 max-h-80 overflow-auto rounded bg-panel p-2 text-ink">{more.split("\n").map(plain).join("\n")}</pre> : null}
    </div>
  );
}

export function EventLine({ item }: { item: FeedItem }) {
  const { t } = useTranslation();
  const notes = notesOf(item, t);
  if (notes.length === 0) return <EventWords item={item} />;
  return (
    <>
      <EventWords item={item} />
      <ul data-notes={item.type} className="mx-3 mt-0.5 mb-1 space-y-0.5 pl-3 text-xs">{notes.map((note, index) => <li key={index} className={clsx("flex items-start gap-1.5 break-words", note.bad ? "text-bad" : "text-wait")}>{note.bad ? <Cross className="mt-0.5 size-3 shrink-0" /> : <Warn className="mt-0.5 size-3 shrink-0" />}<span className="min-w-0 [overflow-wrap:anywhere]">{plain(note.text)}</span></li>)}</ul>
    </>
  );
}

/** What happens next, without weight: the result has its own line. */
function Step({ at, children }: { at: string; children: ReactNode }) {
  const { i18n } = useTranslation();
  return <div data-step className="mx-3 flex gap-2 py-0.5 pr-2 pl-[13px] text-xs text-faint"><span className="min-w-0 grow break-words">{children}</span><time className="figures shrink-0" dateTime={at}>{clock(at, i18n.language)}</time></div>;
}

function EventWords({ item }: { item: FeedItem }) {
  const { t, i18n } = useTranslation();
  const role = useRole();
  const at = item.at;
  switch (item.type) {
    case "iteration_started":
      return (
        <div role="heading" aria-level={3} className="mx-3 mt-4 mb-1 flex items-center gap-3 text-xs font-semibold text-brass">
          <span>{t("feed.iteration", { number: item.iteration })}</span><span aria-hidden className="h-px grow bg-line" />
        </div>
      );
    case "turn_ended": {
      const { outcome, claim } = item.report;
      if (outcome.type === "finished") return <Line at={at} {...(claim ? { icon: Flag, tone: "ask" } : {})}>{t(claim ? "feed.claimed" : "feed.turn_ended", { role: role(item.turn.role), duration: duration(item.report.duration_ms ?? 0) })}</Line>;
      // Only a failure is one: to be limited, stopped or cut off is the loop's everyday life.
      const failed = outcome.type === "failed" || outcome.type === "not_started";
      return <Line at={at} tone={failed ? "bad" : "wait"}>{t("feed.turn_failed", { role: role(item.turn.role), outcome: t(`outcome.${outcome.type}`) })}{"message" in outcome && outcome.message ? `: ${outcome.message}` : ""}</Line>;
    }
    case "checkpointed": {
      const made = item.checkpoint;
      if (!made.created) return <Line at={at} icon={Commit}>{made.commit === null && made.files_changed > 0 ? t("feed.not_committed", { count: made.files_changed }) : t("feed.nothing_changed")}</Line>;
      return <Line at={at} icon={Commit} more={made.files.map((file) => `${file.change} ${file.path}`).join("\n") || undefined}>{t("feed.committed", { commit: commit(made.commit ?? ""), count: made.files_changed })}</Line>;
    }
    case "gate_ended": {
      const passed = item.report.verdict === "pass";
      const onBase = item.gate.iteration === 0;
      return <Line at={at} icon={Gate} tone={passed ? "good" : onBase ? "wait" : "bad"} more={item.report.output_tail || undefined}><strong>{t(`verdict.${item.report.verdict}`)}</strong> {item.report.hidden ? `${t("feed.hidden_gate")} ` : ""}<code>{item.report.command}</code>{!passed && item.report.exit_code != null ? ` · ${t("overview.exit_code", { code: item.report.exit_code })}` : ""}{onBase ? ` · ${t("feed.on_base")}` : ""} · {duration(item.report.duration_ms)}</Line>;
    }
    case "claim_refused":
      return <Line at={at} tone="bad" icon={Flag}><strong>{t("feed.claim_refused")}</strong> {refusedWords(item.because, t)}</Line>;
    case "finding_written":
      return <Line at={at} tone={item.finding.severity === "bug" ? "bad" : "wait"} icon={Eye}><strong>{t(`severity.${item.finding.severity}`)}</strong> <code>{item.finding.file}{item.finding.line ? `:${item.finding.line}` : ""}</code> {item.finding.recurrence > 1 ? `(${t("findings.again", { count: item.finding.recurrence })}) ` : ""}{item.finding.description}</Line>;
    case "finding_resolved":
      return <Line at={at} tone="good" icon={Eye}>{t("feed.finding_resolved", { id: String(item.id) })}</Line>;
    case "reviewed": {
      const ruling = item.ruling;
      const good = ruling.type === "clean" || ruling.type === "accepted";
      return <Line at={at} tone={good ? "good" : "bad"} icon={good ? Check : Cross}><strong>{t(`ruling.${ruling.type}`)}</strong>{"reason" in ruling ? ` ${ruling.reason}` : ""}{ruling.type === "dirty" && ruling.open?.length ? `: ${ruling.open.map(String).join(", ")}` : ""}</Line>;
    }
    case "rejected_unseen":
      return <Line at={at} tone="bad" icon={Cross}><strong>{t("ruling.rejected")}</strong> {item.reason}</Line>;
    case "review_skipped":
      return <Line at={at} tone="wait">{t(`skipped.${item.because.type}`)}</Line>;
    case "wait_started":
      return <Line at={at} tone="wait">{waitWords(item.why, role, t)} · {t("feed.until", { time: moment(item.until, i18n.language) })}</Line>;
    case "wait_ended":
      return <Line at={at}>{t("feed.wait_ended")}</Line>;
    case "pause_requested":
      return <Line at={at} tone="ask" icon={Pause}>{t(item.now ? "feed.pause_now" : "feed.pause_requested")}</Line>;
    case "stop_requested":
      return <Line at={at} icon={Stop}>{t("feed.stop_requested")}</Line>;
    case "reported":
      return <Reported report={item.report} at={at} />;
    case "loop_paused":
      return <Line at={at} tone="ask">{pauseWords(item.why, t)}</Line>;
    case "person_ruled":
      return <Line at={at} tone={item.approved ? "good" : "bad"} icon={item.approved ? Check : Cross}>{t(item.approved ? "feed.person_approved" : "feed.person_rejected")}{item.reason ? `: ${item.reason}` : ""}</Line>;
    case "steering_queued":
      return <Line at={at} tone="ask" icon={Message}>{t("feed.steered")}: {item.text}</Line>;
    case "loop_opened":
      return <Line at={at}>{t(`opened.${item.by}`)}</Line>;
    case "loop_stopped":
      return <Line at={at} tone={endTone(item)} icon={item.outcome === "verified" ? Check : Warn}><strong>{t(`status.${item.status}`)}</strong> · {item.outcome ? t(`completed.${item.outcome}`) : t(`reason.${item.stop_reason.type}`)}</Line>;
    case "minimised":
      return <Line at={at} tone="good" icon={Commit}>{t("feed.minimised", { kept: item.kept, hunks: item.hunks })}</Line>;
    case "merged":
      return <Line at={at} tone="good" icon={Commit}>{t("feed.merged", { target: item.target })}</Line>;
    case "merge_refused":
      return <Line at={at} tone="bad" icon={Cross} more={item.why.type === "gate" ? item.why.output_tail || undefined : item.why.files.join("\n")}>{refusedMergeWords(item, t)}</Line>;
    case "section_finished":
      return <Line at={at} tone="good" icon={Flag}>{t("feed.section_finished", { number: item.section, title: item.title })}</Line>;
    case "loop_queued":
      return <Line at={at} tone="wait">{t("feed.queued", { count: item.max_running })}</Line>;
    case "driver_attached":
      return <Step at={at}>{t("feed.attached")}</Step>;
    case "turn_started":
      return <Step at={at}>{[item.turn.attempt > 1 ? `${role(item.turn.role)}, ${t("timeline.attempt", { number: item.turn.attempt })}` : "", item.session.type === "fresh_instead" ? t("feed.fresh_session") : ""].filter(Boolean).join(" · ")}</Step>;
    case "phase_entered":
      return <Step at={at}>{t(`feed.enter_${item.phase as ToldPhase}`)}</Step>;
    case "summarised":
      return item.summary.problem ? <Line at={at} tone="wait" icon={Warn} more={item.summary.summary || undefined}>{serverWords(item.summary.problem)}</Line> : <Line at={at} icon={List}>{t("feed.summary")}: {item.summary.summary}</Line>;
    case "aim_changed":
      return <Line at={at} icon={Flag}>{item.aim.type === "section" ? t("plan.section", { number: item.aim.number }) : t("feed.final_review")}</Line>;
    case "verdict_given":
      return <Step at={at}>{t("feed.verdict", { verdict: t(`ruling.${item.verdict.type}`) })}</Step>;
    case "workspace_opened":
      return <Line at={at}>{t("feed.workspace_opened")}</Line>;
    case "loop_moved":
      return <Line at={at} tone="wait" icon={Warn}>{t("feed.loop_moved", { to: item.to })}</Line>;
    case "session_lost":
      return <Line at={at} tone="wait" more={item.message || undefined}>{t("feed.session_lost")}</Line>;
    case "progress_stalled":
      return <Line at={at} tone="wait" icon={Warn}>{t("feed.no_progress", { count: item.iterations })}</Line>;
    case "rolled_back":
      return <Line at={at} tone="ask" icon={Commit}>{item.to_iteration === 0 ? t("feed.rolled_back_base") : t("feed.rolled_back", { number: item.to_iteration })}</Line>;
    case "network_denied":
      return <Line at={at} tone="wait" icon={Warn}>{t("feed.network_denied", { host: item.host, count: item.count })}</Line>;
    case "residue_checked":
      return item.left.length > 0 ? <Line at={at} tone="wait" icon={Warn} more={item.left.map((left) => `${left.what}: ${left.fix}`).join("\n")}>{t("feed.residue", { count: item.left.length })}</Line> : null;
    case "planned":
      return <Line at={at}>{t("feed.planned", { count: item.plan.sections.length })}</Line>;
    case "plan_adjusted":
      return <Line at={at} more={item.adjustment.after}>{t("feed.plan_adjusted", { number: item.adjustment.section })}: {item.adjustment.rationale}</Line>;
    case "milestone_amended":
      return <Line at={at}>{t("feed.milestone_amended")}</Line>;
    case "question_deferred":
      return <Line at={at} tone="ask" icon={Message}>{t("feed.question")}: {item.question}</Line>;
    case "question_asked":
      return <Line at={at} tone="ask" icon={Message}>{t(item.until ? "feed.asked" : "feed.question")}: {item.question}</Line>;
    case "question_answered":
      if (item.by === "person") return <Line at={at} tone="ask" icon={Message}>{t("feed.answered")}: {item.answer}</Line>;
      return <Line at={at}>{item.answer ? `${t("feed.default_taken")}: ${item.answer}` : t("feed.no_default")}</Line>;
    case "answer_unreadable":
      return <Line at={at} tone="wait">{t("feed.answer_unreadable")}: {item.why}</Line>;
    case "post_action_ended":
      return <Line at={at} tone="good" icon={Check} more={item.summary || undefined}>{t("feed.post_action_ended")}</Line>;
    case "post_action_refused":
      return <Line at={at} tone="bad" icon={Gate}>{t("feed.post_action_refused")} {t("feed.because_gates", { gates: item.failing.join(", ") })}</Line>;
    case "post_action_undone":
      return <Line at={at} tone="wait" icon={Commit}>{t("feed.post_action_undone")}</Line>;
    case "error":
      return <Line at={at} tone={["rate_limit", "overloaded", "network"].includes(item.kind) ? "wait" : "bad"}>{item.message || item.kind}</Line>;
    case "result":
      return <Line at={at} tone="bad">{item.text}</Line>;
    case "output_skipped":
      return <Line at={at} tone="wait">{t("feed.skipped", { bytes: bytes(item.bytes) })}</Line>;
    case "agent_changed":
      return <Line at={at} tone="wait">{t("feed.agent_changed", { from: item.from, to: item.to })}: {item.why}</Line>;
    case "turn_interrupted":
      return <Line at={at} tone="wait">{t("feed.interrupted", { why: t(`interrupt.${item.why.type}`) })}</Line>;
    default:
      // A new event has to get words, or its place among the silent ones.
      item.type satisfies SilentType;
      return null;
  }
}

/** What a developer reports at the end of a turn. */
function Reported({ report, at }: { report: Extract<FeedItem, { type: "reported" }>["report"]; at: string }) {
  const { t } = useTranslation();
  if ("summary" in report) return <Line at={at} tone="ask" icon={Flag} more={report.summary || undefined}>{t("feed.reported_all")}</Line>;
  if ("why" in report) return <Line at={at} tone="wait" icon={Warn}>{t("feed.reported_unreadable")}: {report.why}</Line>;
  const more = [...report.changes.map((change) => `${change.file}: ${change.what}`), report.notes ?? ""].filter(Boolean).join("\n");
  return <Line at={at} icon={List} more={more || undefined}>{t("feed.reported", { feature: report.feature })}{report.tests ? ` · ${t("feed.reported_tests", { passed: report.tests.passed, failed: report.tests.failed })}` : ""}</Line>;
}

function endTone({ status, outcome }: Extract<FeedItem, { type: "loop_stopped" }>): Tone {
  if (status === "completed") return outcome === "verified" ? "good" : "wait";
  return status === "cancelled" ? "plain" : status === "exhausted" ? "wait" : "bad";
}

export function refusedWords(because: Extract<FeedItem, { type: "claim_refused" }>["because"], t: TFunction): string {
  switch (because.type) {
    case "gates":
      return t("feed.because_gates", { gates: because.failing.join(", ") });
    case "held_back":
      return t("feed.because_held_back", { files: because.files.join(", ") });
    case "steering_pending":
      return t("feed.because_steering");
  }
}
