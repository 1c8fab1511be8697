// How a loop stands: never by colour alone, each standing has a shape of its own.

import clsx from "clsx";
import { useTranslation } from "react-i18next";
import type { LoopView } from "../api/types";
import { OutcomeShape, OUTCOME_TONE } from "./outcome";

export const STATUSES = [
  "running", "waiting", "queued", "awaiting_review", "paused", "interrupted", "completed", "exhausted", "stalled", "errored", "cancelled",
] as const;
export type StatusName = (typeof STATUSES)[number];

const TONE: Record<StatusName, string> = {
  running: "text-run", waiting: "text-wait", queued: "text-idle", awaiting_review: "text-ask", paused: "text-ask",
  interrupted: "text-wait", completed: "text-good", exhausted: "text-wait", stalled: "text-bad", errored: "text-bad", cancelled: "text-idle",
};
const GROUND: Record<StatusName, string> = {
  running: "bg-run-soft", waiting: "bg-wait-soft", queued: "bg-idle-soft", awaiting_review: "bg-ask-soft", paused: "bg-ask-soft",
  interrupted: "bg-wait-soft", completed: "bg-good-soft", exhausted: "bg-wait-soft", stalled: "bg-bad-soft", errored: "bg-bad-soft", cancelled: "bg-idle-soft",
};

export function statusName(status: string): StatusName {
  return (STATUSES as readonly string[]).includes(status) ? (status as StatusName) : "queued";
}

export const isOpen = (status: string) => ["running", "waiting", "queued"].includes(status);
/** Waits for an answer: a review, a resume. */
export const wantsPerson = (status: string) => ["awaiting_review", "paused", "interrupted"].includes(status);
/** Ended without reaching its goal. */
export const hasFailed = (status: string) => ["exhausted", "stalled", "errored"].includes(status);
export const canResume = (status: string) => ["paused", "interrupted", "exhausted", "stalled", "errored", "cancelled"].includes(status);

type Outcome = LoopView["outcome"] | undefined;

export function StatusShape({ status, outcome, className }: { status: string; outcome?: Outcome; className?: string }) {
  const name = statusName(status);
  const reached = name === "completed" ? outcome : undefined;
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" data-standing={reached ?? name} className={clsx(reached ? OUTCOME_TONE[reached].text : TONE[name], "shrink-0", className)} aria-hidden fill="none" stroke="currentColor" strokeWidth="1.7" strokeLinecap="round" strokeLinejoin="round">
      {reached ? <OutcomeShape outcome={reached} /> : shape(name)}
    </svg>
  );
}

function shape(name: StatusName) {
  switch (name) {
    case "running":
      return <><circle cx="8" cy="8" r="3.200" fill="currentColor" stroke="none" className="breathe" /><circle cx="8" cy="8" r="6.200" strokeDasharray="9 4" className="turning" /></>;
    case "waiting":
      return <><path d="M4.500 2.500h7M4.500 13.500h7M5.500 2.500c0 3.200 5 4.200 5 7v4M10.500 2.500c0 3.200-5 4.200-5 7v4" /></>;
    case "queued":
      return <circle cx="8" cy="8" r="5.500" strokeDasharray="2 2.800" />;
    case "awaiting_review":
      return <><path d="M8 1.800 14.200 8 8 14.200 1.800 8z" /><path d="M8 5.200v3.300M8 10.700v.01" /></>;
    case "paused":
      return <><circle cx="8" cy="8" r="6" /><path d="M6.300 5.700v4.600M9.700 5.700v4.600" /></>;
    case "interrupted":
      return <><path d="M3.800 12.200A6 6 0 0 1 11 2.800M12.400 4A6 6 0 0 1 6 13.600" /><path d="m8.600 5-1.800 3h2.400l-1.800 3" /></>;
    case "completed":
      return <path d="m3.500 8.500 3 3 6-7" />;
    case "exhausted":
      return <><rect x="1.800" y="5" width="11" height="6" rx="1.300" /><path d="M14.300 7v2M4 7v2" /></>;
    case "stalled":
      return <><path d="M8 2.200 14.500 13.500h-13z" /><path d="M8 6.500v3.200M8 11.600v.01" /></>;
    case "errored":
      return <><path d="M5.400 1.800h5.200l3.600 3.600v5.200l-3.600 3.600H5.400l-3.600-3.600V5.400z" /><path d="m6 6 4 4M10 6l-4 4" /></>;
    case "cancelled":
      return <rect x="3.500" y="3.500" width="9" height="9" rx="1.200" fill="currentColor" fillOpacity="0.25" />;
  }
}

export function StatusBadge({ status, outcome }: { status: string; outcome?: Outcome }) {
  const { t } = useTranslation();
  const name = statusName(status);
  const reached = name === "completed" ? outcome : undefined;
  const tone = reached ? [OUTCOME_TONE[reached].ground, OUTCOME_TONE[reached].text] : [GROUND[name], TONE[name]];
  return (
    <span data-badge className={clsx("inline-flex items-center gap-1.5 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap", tone)}>
      <StatusShape status={name} outcome={reached} className="size-3.5" />
      {t(`status.${name}`)}
      {reached ? <span className="font-normal">· {t(`completed.${reached}`)}</span> : null}
    </span>
  );
}
