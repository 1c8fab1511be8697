import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { memo } from "react";
import { useTranslation } from "react-i18next";
import type { LoopSummary } from "../api/types";
import { useNow } from "../lib/clock";
import { ago, baseName, duration } from "../lib/format";
import { refusedMergeWords } from "../loop/merge";
import { phaseWords } from "../loop/phase";
import { Check, Cross, Eye, Message, Pause, Play, Stop, Warn } from "../ui/icons";
import { OUTCOME_TONE } from "../ui/outcome";
import { Button, IconButton } from "../ui/primitives";
import { StatusShape, canResume, hasFailed, isOpen, statusName, wantsPerson } from "../ui/status";
import type { Verb } from "./actions";
import { stateOf } from "./arrange";
import { AgentName, Countdown, Gates, Iterations, MergedMark, Spent } from "./parts";
import { Sparkline } from "./Sparkline";

const COLUMNS = "grid-cols-[1.25rem_minmax(0,1fr)] gap-x-3 sm:grid-cols-[3rem_1fr_auto] lg:grid-cols-[3rem_minmax(12rem,1fr)_4.5rem_5rem_11rem_5rem_5.5rem_11.5rem]";

interface Props {
  loop: LoopSummary;
  selected: boolean;
  marked: boolean;
  on: RowHandlers;
}

/** The same functions for every row and each time, so that scrolling renders only rows that come into sight. */
export interface RowHandlers {
  select: (loop: LoopSummary) => void;
  /** With a range, everything from the last mark to here. */
  mark: (loop: LoopSummary, range: boolean) => void;
  ask: (loop: LoopSummary, verb: Verb) => void;
  pause: (loop: LoopSummary) => void;
}

export const LoopRow = memo(function LoopRow({ loop, selected, marked, on }: Props) {
  const { t } = useTranslation();
  const status = statusName(loop.status);
  const open = isOpen(loop.status);
  return (
    <article data-state={stateOf(loop)} className={clsx(COLUMNS, "card mb-1.5 grid items-center gap-y-1.5 px-3 py-2", selected && "ring-2 ring-accent", marked && "border-accent bg-accent-soft")}>
      <div className="flex items-center gap-1">
        <label className="flex size-6 items-center justify-center max-sm:hidden"><input type="checkbox" aria-label={t("bulk.mark", { name: loop.name })} checked={marked} onChange={(event) => on.mark(loop, (event.nativeEvent as MouseEvent).shiftKey)} className="size-4 accent-accent" /></label>
        <StatusShape status={status} outcome={loop.outcome} className="size-5" />
      </div>
      <div className="min-w-0">
        <Link id={`loop-${loop.id}`} to="/loops/$id" params={{ id: loop.id }} onFocus={() => on.select(loop)} className="flex min-h-6 flex-wrap items-baseline gap-x-2">
          <span className="min-w-0 truncate font-semibold">{loop.name}</span>
          <Standing loop={loop} />
          <span title={loop.goal} className="min-w-0 flex-1 basis-40 truncate text-sm text-soft max-sm:basis-full">{loop.goal}</span>
        </Link>
        <Doing loop={loop} />
        {loop.last_words ? <LastWords words={loop.last_words} /> : null}
      </div>
      <div className="flex items-center justify-end gap-1 empty:hidden max-sm:col-span-full max-sm:row-start-3 sm:col-start-3 sm:row-start-1 sm:gap-0 lg:col-start-8"><Actions loop={loop} onAsk={(verb) => on.ask(loop, verb)} onPause={() => on.pause(loop)} /></div>
      <div className="col-span-full grid grid-cols-[3rem_auto_1fr_minmax(0,auto)_auto] items-center gap-2.5 lg:contents">
        <div className="lg:col-start-3 lg:row-start-1"><Iterations loop={loop} /></div>
        <div className="lg:col-start-4 lg:row-start-1"><Gates gates={loop.gates} /></div>
        <div className="lg:col-start-5 lg:row-start-1"><Spent loop={loop} /></div>
        <div className="lg:col-start-6 lg:row-start-1"><Sparkline values={loop.activity} className={clsx("max-sm:w-9", open ? "text-run" : "text-faint")} /></div>
        <div className="text-right text-xs text-soft lg:col-start-7 lg:row-start-1"><LastActivity at={loop.last_activity_at} running={status === "running"} /></div>
      </div>
    </article>
  );
});

/** One or two words beside the name. The line below says why. */
function Standing({ loop }: { loop: LoopSummary }) {
  const { t } = useTranslation();
  const status = statusName(loop.status);
  const reached = status === "completed" ? loop.outcome : null;
  const rejections = loop.review?.consecutive_rejections ?? 0;
  return (
    <>
      {status === "running" ? <span className="shrink-0 text-xs text-run">{t("status.running")}</span> : null}
      {status === "completed" ? <span className={clsx("shrink-0 text-xs font-medium", reached ? OUTCOME_TONE[reached].text : "text-soft")}>{reached ? t(`completed.${reached}`) : t("status.completed")}</span> : null}
      {loop.waiting_until ? <span className="shrink-0 text-xs text-wait"><Countdown until={loop.waiting_until} /></span> : null}
      {loop.merged ? <MergedMark merged={loop.merged} /> : null}
      {rejections > 0 ? <span className="shrink-0 text-xs text-bad">{t("loop.rejections", { count: rejections })}</span> : null}
    </>
  );
}

function Doing({ loop }: { loop: LoopSummary }) {
  const { t } = useTranslation();
  const status = statusName(loop.status);
  return (
    <p className="text-xs text-soft sm:truncate">
      {loop.merge_refused ? <><span data-doing className="font-medium text-bad">{refusedMergeWords(loop.merge_refused, t)}</span> · </> : null}
      {status === "completed" || loop.merge_refused ? null : <><span data-doing className={clsx("font-medium", wantsPerson(status) ? "text-ask" : hasFailed(status) ? "text-bad" : "text-ink")}>{phaseWords(loop, t)}</span> · </>}
      <span className="text-faint">{baseName(loop.project)} · <AgentName loop={loop} /></span>
      {loop.group ? <span className="max-sm:block max-sm:truncate"><span className="max-sm:hidden"> · </span><Link to="/groups/$id" params={{ id: loop.group.id }} data-group-of className="text-accent underline">{t("tries.member", { number: loop.group.number, name: loop.group.name })}</Link></span> : null}
      {loop.parent ? <span className="max-sm:block max-sm:truncate"><span className="max-sm:hidden"> · </span><Link to="/loops/$id" params={{ id: loop.parent.id }} className="text-accent underline">{t("loop.fork_of_short", { name: loop.parent.name })}</Link></span> : null}
    </p>
  );
}

/** What the agent of a running loop said last. */
function LastWords({ words }: { words: string }) {
  const { t } = useTranslation();
  return <p data-last-words title={words} className="truncate text-xs text-soft"><span className="sr-only">{t("loop.last_words")} </span><span aria-hidden>“</span>{words}<span aria-hidden>”</span></p>;
}

/** The main action has a name; the others are icons. */
function Actions({ loop, onAsk, onPause }: Pick<Props, "loop"> & { onAsk: (verb: Verb) => void; onPause: () => void }) {
  const { t } = useTranslation();
  const open = isOpen(loop.status);
  const asks = loop.status === "awaiting_review";
  const paused = loop.status === "paused";
  return (
    <>
      {asks ? (
        <>
          <Link to="/loops/$id" params={{ id: loop.id }} search={{ tab: "overview" }} className="inline-flex min-h-7 items-center gap-1.5 rounded-md bg-accent px-2 text-xs font-medium text-accent-ink hover:brightness-110"><Eye className="size-3.5" />{t("action.review")}</Link>
          <IconButton label={t("action.approve")} onClick={() => onAsk("approve")} className="text-good"><Check /></IconButton>
          <IconButton label={t("action.reject")} onClick={() => onAsk("reject")} className="text-bad"><Cross /></IconButton>
        </>
      ) : null}
      {loop.merge_refused && loop.outcome ? <Button small onClick={() => onAsk("continue")}><Play className="size-3" />{t("action.continue")}</Button> : null}
      {canResume(loop.status) && stateOf(loop) === "person" ? <Button small tone={paused ? "accent" : "plain"} onClick={onPause}><Play className="size-3" />{t("action.resume")}</Button> : null}
      {open || paused ? <IconButton label={t("action.steer")} onClick={() => onAsk("steer")}><Message /></IconButton> : null}
      {open ? <IconButton label={t("action.pause")} onClick={onPause}><Pause /></IconButton> : null}
      {canResume(loop.status) && stateOf(loop) !== "person" ? <IconButton label={t("action.resume")} onClick={onPause}><Play /></IconButton> : null}
      {open || paused || asks ? <IconButton label={t("action.stop")} onClick={() => onAsk("stop")}><Stop /></IconButton> : null}
    </>
  );
}

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
      <span className="col-start-3">{t("loop.iteration")}</span><span>{t("loop.gates")}</span><span>{t("loop.spent")}</span><span>{t("loop.activity")}</span>
    </div>
  );
}
