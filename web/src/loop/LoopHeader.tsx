import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { LoopView } from "../api/types";
import { baseName, commit, short } from "../lib/format";
import type { Verb } from "../loops/actions";
import { tokensOf } from "../loops/figures";
import { AgentName, Bar, Cost, Elapsed, Gates, Iterations, MergedMark } from "../loops/parts";
import { CopyText } from "../ui/CopyText";
import { Branch, Chevron, Cross, Message, More, Pause, Play, Stop } from "../ui/icons";
import { Menu, MenuItem } from "../ui/Menu";
import { Button, IconButton } from "../ui/primitives";
import { StatusBadge, canResume, isOpen } from "../ui/status";
import { canFork } from "./fork";
import { canMerge } from "./merge";
import { asksForReview } from "./phase";

function Fact({ label, children, className }: { label: string; children: ReactNode; className?: string }) {
  return (
    <div className={clsx("min-w-0", className)}>
      <dt className="text-[11px] whitespace-nowrap text-faint">{label}</dt>
      <dd className="text-sm">{children}</dd>
    </div>
  );
}

export function LoopHeader({ loop, onAsk, onPause }: { loop: LoopView; onAsk: (verb: Verb) => void; onPause: () => void }) {
  const { t } = useTranslation();
  return (
    <div className="border-b border-line bg-panel px-3 pt-1.5 pb-2 sm:px-4">
      <nav aria-label={t("loop.way_back")} className="flex items-center gap-1 text-xs text-soft">
        <Link to="/" className="rounded py-0.5 underline-offset-2 hover:underline">{t("nav.loops")}</Link>
        <Chevron className="size-3 text-faint" />
        <Link to="/" search={{ project: loop.project }} title={loop.project} className="truncate rounded py-0.5 underline-offset-2 hover:underline">{baseName(loop.project)}</Link>
        <Kin loop={loop} />
      </nav>
      <div className="flex items-center gap-x-3">
        <h1 className="min-w-0 truncate" title={loop.name}>{loop.name}</h1>
        <span className="max-sm:hidden"><StatusBadge status={loop.status} outcome={loop.outcome} /></span>
        <span className="max-sm:hidden"><MergeState loop={loop} /></span>
        <Actions loop={loop} onAsk={onAsk} onPause={onPause} />
      </div>
      <div className="mt-1 flex items-center gap-2">
        <span className="sm:hidden"><StatusBadge status={loop.status} outcome={loop.outcome} /></span>
        {loop.merged || loop.merge_refused ? <span className="shrink-0 sm:hidden"><MergeState loop={loop} /></span> : null}
        <p className="min-w-0 text-sm break-words text-soft max-sm:truncate sm:line-clamp-2" title={loop.goal}>{loop.goal}</p>
      </div>
      <dl className="mt-2 flex flex-wrap gap-x-4 gap-y-2 max-sm:justify-between">
        <Fact label={t("loop.iteration")} className="w-14 sm:w-20"><Iterations loop={loop} /></Fact>
        {loop.review ? <Fact label={t("loop.consecutive_rejections")}><span data-rejections className={clsx(loop.review.consecutive_rejections > 0 && "font-semibold text-bad")}><Bar value={loop.review.consecutive_rejections} max={loop.review.max_rejections} show={String} label={t("loop.consecutive_rejections")} /></span></Fact> : null}
        <Fact label={t("loop.claims")} className="max-sm:hidden"><Claims loop={loop} /></Fact>
        <Fact label={t("loop.gates")}><Gates gates={loop.gates} /></Fact>
        <Fact label={t("loop.cost")}><Cost loop={loop} /></Fact>
        <Fact label={t("loop.token_limit")} className={loop.limits.max_tokens ? "" : "max-sm:hidden"}><Bar value={tokensOf(loop.usage)} max={loop.limits.max_tokens} show={short} label={t("loop.token_limit")} /></Fact>
        <Fact label={t("loop.time")} className={loop.review ? "max-sm:hidden" : ""}><Elapsed loop={loop} /></Fact>
        <Fact label={t("loop.agent")} className="max-sm:hidden"><AgentName loop={loop} />{loop.review ? <span className="text-soft"> · {loop.review.reviewer}</span> : null}</Fact>
        <Fact label={t("loop.where")} className="max-sm:hidden"><Where loop={loop} /></Fact>
      </dl>
    </div>
  );
}

/** Merged, refused, or not yet: said of work that could be merged. */
export function MergeState({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  if (loop.merged) return <MergedMark merged={loop.merged} />;
  if (isOpen(loop.status) || !canMerge(loop)) return null;
  const refused = Boolean(loop.merge_refused);
  return <span data-merge-state className={clsx("inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap", refused ? "bg-bad-soft text-bad" : "bg-idle-soft text-soft")}>{refused ? <Cross className="size-3.5" /> : <Branch className="size-3.5" />}{t(refused ? "loop.merge_refused" : "loop.unmerged")}</span>;
}

/** The group that a loop is a try of, and the loop that it was forked from. */
function Kin({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const { group, parent } = loop;
  if (!group && !parent) return null;
  return (
    <>
      {group ? <><Chevron className="size-3 shrink-0 text-faint" /><Link to="/groups/$id" params={{ id: group.id }} data-group-of className="truncate rounded py-0.5 underline decoration-line underline-offset-2 hover:decoration-accent">{t("tries.member", { number: group.number, name: group.name })}</Link></> : null}
      {parent ? <><Branch className="ml-1 size-3 shrink-0 text-faint" /><Link to="/loops/$id" params={{ id: parent.id }} data-parent className="truncate rounded py-0.5 underline decoration-line underline-offset-2 hover:decoration-accent">{t("loop.fork_of", { name: parent.name, iteration: parent.iteration })}</Link><Link to="/compare" search={{ loops: `${parent.id},${loop.id}` }} className="rounded py-0.5 whitespace-nowrap text-accent underline">{t("compare.action")}</Link></> : null}
    </>
  );
}

/** Its claims, and how many of them were refused. */
export function Claims({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  return <span className="figures">{loop.claims.made}{loop.claims.refused > 0 ? <span className="text-bad"> · {t("loop.refused", { count: loop.claims.refused })}</span> : null}</span>;
}

function Actions({ loop, onAsk, onPause }: { loop: LoopView; onAsk: (verb: Verb) => void; onPause: () => void }) {
  const { t } = useTranslation();
  const open = isOpen(loop.status);
  const over = ["completed", "exhausted", "cancelled", "stalled", "errored"].includes(loop.status);
  const asks = asksForReview(loop);
  return (
    <div className="ml-auto flex shrink-0 items-center gap-1">
      {open || loop.status === "paused" ? <Button small onClick={() => onAsk("steer")}><Message className="size-3.5" /><span className="max-sm:sr-only">{t("action.steer")}</span></Button> : null}
      {open ? <Button small onClick={onPause}><Pause className="size-3.5" /><span className="max-sm:sr-only">{t("action.pause")}</span></Button> : null}
      {canResume(loop.status) ? <Button small tone={loop.status === "paused" ? "accent" : "plain"} onClick={onPause}><Play className="size-3.5" /><span className="max-sm:sr-only">{t("action.resume")}</span></Button> : null}
      {!over ? <Button small tone="danger" onClick={() => onAsk("stop")}><Stop className="size-3.5" /><span className="max-sm:sr-only">{t("action.stop")}</span></Button> : null}
      <Menu trigger={<IconButton label={t("action.more")}><More /></IconButton>}>
        <MenuItem disabled={open || !canMerge(loop)} onSelect={() => onAsk("merge")}>{t("action.merge")}</MenuItem>
        <MenuItem disabled={open || loop.status === "completed"} onSelect={() => onAsk("restart")}>{t("action.restart")}</MenuItem>
        <MenuItem disabled={open || loop.iterations === 0} onSelect={() => onAsk("rollback")}>{t("action.rollback")}</MenuItem>
        <MenuItem disabled={!canFork(loop)} onSelect={() => onAsk("fork")}>{t("action.fork")}</MenuItem>
        <MenuItem disabled={!loop.worktree} onSelect={() => onAsk("takeover")}>{t("action.takeover")}</MenuItem>
        <MenuItem disabled={!asks} onSelect={() => onAsk("approve")}>{t("action.approve")}</MenuItem>
        <MenuItem disabled={!asks} onSelect={() => onAsk("reject")}>{t("action.reject")}</MenuItem>
      </Menu>
    </div>
  );
}

/** The branch to check out, or the directory of a loop that works in place. */
export function Where({ loop }: { loop: LoopView }) {
  const text = loop.branch ?? baseName(loop.project);
  return <CopyText text={text} shown={`${text}${loop.head_commit ? ` @ ${commit(loop.head_commit)}` : ""}`} title={loop.worktree ?? text} />;
}
