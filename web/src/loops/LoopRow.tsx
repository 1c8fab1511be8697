import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { memo } from "react";
import { useTranslation } from "react-i18next";
import type { LoopSummary } from "../api/types";
import { useNow } from "../lib/clock";
import { ago, baseName } from "../lib/format";
import { Check, Message, Pause, Play, Stop } from "../ui/icons";
import { IconButton } from "../ui/primitives";
import { StatusShape, canResume, isOpen, statusName } from "../ui/status";
import type { Verb } from "./actions";
import { Cost, Countdown, Gates, Iterations } from "./parts";
import { Sparkline } from "./Sparkline";

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
    <article className={clsx("card mb-1.5 grid grid-cols-[auto_1fr_auto] items-center gap-x-3 gap-y-1.5 px-3 py-2 lg:grid-cols-[auto_minmax(12rem,1fr)_4.5rem_6rem_7rem_5.5rem_5.5rem_6.5rem]", selected && "ring-2 ring-accent")}>
      <StatusShape status={status} className="size-5" />
      <div className="min-w-0">
        <Link id={`loop-${loop.id}`} to="/loops/$id" params={{ id: loop.id }} onFocus={onSelect} className="flex items-baseline gap-2">
          <span className="truncate font-medium">{loop.name}</span>
          <span className={clsx("shrink-0 text-xs", { running: "text-run", waiting: "text-wait" }[status as string] ?? "text-soft")}>
            {t(`status.${status}`)}
            {loop.waiting_until ? <> <Countdown until={loop.waiting_until} /></> : null}
            {status === "completed" && !loop.verified ? ` · ${t("loop.not_verified")}` : null}
          </span>
          {loop.review && loop.review.consecutive_rejections > 0 ? <span className="shrink-0 text-xs text-bad">{t("loop.rejections", { count: loop.review.consecutive_rejections })}</span> : null}
        </Link>
        <p className="truncate text-xs text-soft">
          <span className="text-faint">{baseName(loop.project)} · {loop.agent} · </span>
          {loop.waiting_for && !open ? loop.waiting_for : loop.goal}
        </p>
      </div>
      <div className="col-start-3 row-start-1 flex justify-end lg:col-start-8">
        {status === "awaiting_review" ? <IconButton label={t("action.approve")} onClick={() => onAsk("approve")} className="text-good"><Check /></IconButton> : null}
        {open || status === "paused" ? <IconButton label={t("action.steer")} onClick={() => onAsk("steer")}><Message /></IconButton> : null}
        {open ? <IconButton label={t("action.pause")} onClick={onPause}><Pause /></IconButton> : null}
        {resumable ? <IconButton label={t("action.resume")} onClick={onPause}><Play /></IconButton> : null}
        {open || status === "paused" || status === "awaiting_review" ? <IconButton label={t("action.stop")} onClick={() => onAsk("stop")}><Stop /></IconButton> : null}
      </div>
      <div className="col-span-3 grid grid-cols-[3.5rem_auto_1fr_auto] items-center gap-3 lg:contents">
        <div className="lg:col-start-3 lg:row-start-1"><Iterations loop={loop} /></div>
        <div className="lg:col-start-4 lg:row-start-1"><Gates gates={loop.gates} /></div>
        <div className="lg:col-start-5 lg:row-start-1"><Cost loop={loop} /></div>
        <div className="hidden lg:col-start-6 lg:row-start-1 lg:block"><Sparkline values={loop.activity} className={open ? "text-run" : "text-faint"} /></div>
        <div className="text-right text-xs text-soft lg:col-start-7 lg:row-start-1"><LastActivity at={loop.last_activity_at} /></div>
      </div>
    </article>
  );
});

function LastActivity({ at }: { at: string }) {
  const { i18n } = useTranslation();
  const now = useNow();
  return <time dateTime={at} title={at}>{ago(at, now, i18n.language)}</time>;
}
