import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { memo } from "react";
import { useTranslation } from "react-i18next";
import type { LoopSummary } from "../api/types";
import { useNow } from "../lib/clock";
import { ago, baseName, duration } from "../lib/format";
import { phaseWords } from "../loop/phase";
import { Check, Cross, Message, Pause, Play, Stop, Warn } from "../ui/icons";
import { IconButton } from "../ui/primitives";
import { StatusShape, canResume, isOpen, statusName, unverified, wantsPerson } from "../ui/status";
import type { Verb } from "./actions";
import { Cost, Countdown, Gates, Iterations } from "./parts";
import { Sparkline } from "./Sparkline";

const COLUMNS = "grid-cols-[1.25rem_1fr_auto] gap-x-3 lg:grid-cols-[1.25rem_minmax(12rem,1fr)_4.5rem_6rem_7rem_5.5rem_5.5rem_6.5rem]";

interface Props {
  loop: LoopSummary;
  selected: boolean;
  onSelect: () => void;
  onAsk: (verb: Verb) => void;
  onPause: () => void;
}

export const LoopRow = memo(function LoopRow({ loop, selected, onSelect, onAsk, onPause }: Props) {
  const { t } = useTranslation();
  const status = statusName(loop.status);
  const open = isOpen(loop.status);
  const resumable = canResume(loop.status);
  return (
    <article className={clsx(COLUMNS, "card mb-1.5 grid items-center gap-y-1.5 px-3 py-2", selected && "ring-2 ring-accent")}>
      <StatusShape status={status} className="size-5" />
      <div className="min-w-0">
        <Link id={`loop-${loop.id}`} to="/loops/$id" params={{ id: loop.id }} onFocus={onSelect} className="flex items-baseline gap-2">
          <span className="truncate font-semibold">{loop.name}</span>
          <span className={clsx("shrink-0 text-xs", { running: "text-run", waiting: "text-wait" }[status as string] ?? "text-soft")}>
            {/* The line below says the others. */}
            {status === "completed" || status === "running" ? t(`status.${status}`) : null}
            {loop.waiting_until ? <Countdown until={loop.waiting_until} /> : null}
            {unverified(loop.outcome, t) ? ` · ${unverified(loop.outcome, t)}` : null}
          </span>
          {loop.review && loop.review.consecutive_rejections > 0 ? <span className="shrink-0 text-xs text-bad">{t("loop.rejections", { count: loop.review.consecutive_rejections })}</span> : null}
        </Link>
        <p className="truncate text-xs text-soft">
          {status === "completed" ? null : <><span data-doing className={clsx("font-medium", wantsPerson(status) ? "text-ask" : "text-ink")}>{phaseWords(loop, t)}</span> · </>}
          <span className="text-faint">{baseName(loop.project)} · {loop.agent} · </span>
          <span title={loop.goal}>{loop.goal}</span>
        </p>
      </div>
      <div className="col-start-3 row-start-1 flex justify-end lg:col-start-8">
        {status === "awaiting_review" ? <><IconButton label={t("action.approve")} onClick={() => onAsk("approve")} className="text-good"><Check /></IconButton><IconButton label={t("action.reject")} onClick={() => onAsk("reject")} className="text-bad"><Cross /></IconButton></> : null}
        {open || status === "paused" ? <IconButton label={t("action.steer")} onClick={() => onAsk("steer")}><Message /></IconButton> : null}
        {open ? <IconButton label={t("action.pause")} onClick={onPause}><Pause /></IconButton> : null}
        {resumable ? <IconButton label={t("action.resume")} onClick={onPause}><Play /></IconButton> : null}
        {open || status === "paused" || status === "awaiting_review" ? <IconButton label={t("action.stop")} onClick={() => onAsk("stop")}><Stop /></IconButton> : null}
      </div>
      <div className="col-span-3 grid grid-cols-[3.5rem_auto_1fr_minmax(0,auto)_auto] items-center gap-2.5 lg:contents">
        <div className="lg:col-start-3 lg:row-start-1"><Iterations loop={loop} /></div>
        <div className="lg:col-start-4 lg:row-start-1"><Gates gates={loop.gates} /></div>
        <div className="lg:col-start-5 lg:row-start-1"><Cost loop={loop} /></div>
        <div className="lg:col-start-6 lg:row-start-1"><Sparkline values={loop.activity} className={clsx("max-sm:w-9", open ? "text-run" : "text-faint")} /></div>
        <div className="text-right text-xs text-soft lg:col-start-7 lg:row-start-1"><LastActivity at={loop.last_activity_at} running={status === "running"} /></div>
      </div>
    </article>
  );
});

/** A loop that works and says nothing for so long deserves a look; by default the engine ends such a turn after five minutes. */
const QUIET_MS = 2 * 60_000;

function LastActivity({ at, running }: { at: string; running: boolean }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const silence = now - Date.parse(at);
  const quiet = running && silence > QUIET_MS;
  return <time dateTime={at} title={quiet ? t("loop.quiet", { time: duration(silence) }) : at} className={clsx("inline-flex items-center gap-1 whitespace-nowrap", quiet && "font-semibold text-wait")}>{quiet ? <Warn className="size-3.5" /> : null}{ago(at, now, i18n.language)}</time>;
}

/** What the columns are, where there are columns. */
export function LoopRowHead() {
  const { t } = useTranslation();
  return (
    <div aria-hidden className={clsx(COLUMNS, "hidden px-3 text-[11px] text-faint lg:grid")}>
      <span className="col-start-3">{t("loop.iteration")}</span><span>{t("loop.gates")}</span><span>{t("loop.cost")}</span><span>{t("loop.activity")}</span>
    </div>
  );
}
