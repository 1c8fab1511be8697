import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { LoopView } from "../api/types";
import { commit } from "../lib/format";
import { remember, remembered } from "../lib/storage";
import { Size, totalOf, useDiff } from "../loop/DiffStat";
import { useFindings } from "../loop/FindingsTab";
import { useTimeline } from "../loop/IterationBody";
import type { Show } from "../loop/LoopPage";
import { asksForReview } from "../loop/phase";
import { homeBranch } from "../loop/story";
import { Branch, Lock, Message, Right, Warn } from "../ui/icons";
import { Button, Empty, Loading, Problem } from "../ui/primitives";
import { isOpen } from "../ui/status";
import { DiffFiles } from "./DiffFiles";
import { keepComments, keptComments, messageOf, type Comment } from "./notes";
import type { DiffMode } from "./rows";

interface Props {
  loop: LoopView;
  iteration: number | undefined;
  since: string | undefined;
  onShow: Show;
  onAsk: (verb: "steer" | "reject", text: string, onDone: () => void) => void;
}

export default function DiffTab({ loop, iteration, since, onShow, onAsk }: Props) {
  const { t } = useTranslation();
  const diff = useDiff(loop, iteration, since);
  const findings = useFindings(loop);
  const [mode, setMode] = useState<DiffMode>(() => (remembered("diff") === "split" ? "split" : "unified"));
  const [comments, setComments] = useState<readonly Comment[]>(() => keptComments(loop.id));
  const keep = (next: readonly Comment[]) => {
    setComments(next);
    keepComments(loop.id, next);
  };
  const choose = (next: DiffMode) => {
    setMode(next);
    remember("diff", next === "split" ? "split" : null);
  };
  const total = diff.data ? totalOf(diff.data) : null;
  return (
    <div className="flex h-full min-h-80 flex-col">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-2 py-2 sm:px-4">
        <Ends loop={loop} iteration={iteration} since={since} onShow={onShow} />
        {diff.data && total ? <span data-diff-total className="text-xs text-soft max-sm:basis-full"><code>{commit(diff.data.from)}</code> <Right className="inline size-3 align-[-1px]" label={t("diff.to")} /> <code>{commit(diff.data.to)}</code> · {t("diff.files", { count: total.files })} · <Size added={total.added} removed={total.removed} /></span> : null}
        <div role="group" aria-label={t("diff.mode")} className="segments ml-auto flex max-sm:hidden">
          {(["unified", "split"] as const).map((name) => <Button key={name} small aria-pressed={mode === name} tone={mode === name ? "accent" : "plain"} onClick={() => choose(name)}>{t(`diff.${name}`)}</Button>)}
        </div>
      </div>
      <Kept loop={loop} iteration={iteration} since={since} />
      {diff.isPending ? <Loading /> : null}
      {diff.error && !diff.data ? <Problem error={diff.error} onRetry={() => void diff.refetch()} /> : null}
      {diff.data?.files.length === 0 ? <Empty icon={<Branch />} title={t("diff.none")} /> : null}
      {diff.data && diff.data.files.length > 0 ? <DiffFiles key={`${iteration ?? "all"} ${since ?? ""}`} diff={diff.data} mode={mode} findings={findings.data?.findings ?? []} comments={comments} onComments={keep} /> : null}
      {comments.length > 0 ? <CommentBar loop={loop} comments={comments} onAsk={onAsk} onComments={keep} /> : null}
    </div>
  );
}

/** Where the difference starts and ends. */
function Ends({ loop, iteration, since, onShow }: Pick<Props, "loop" | "iteration" | "since" | "onShow">) {
  const { t } = useTranslation();
  const target = homeBranch(useTimeline(loop).data);
  const numbers = loop.history.map((record) => record.iteration);
  const go = (to: number | undefined, from: string | undefined) => onShow("diff", { ...(to === undefined ? {} : { iteration: to }), ...(from === undefined ? {} : { since: from }) });
  return (
    <>
      <select aria-label={t("diff.which")} className="field w-auto min-w-0 max-sm:flex-1" value={iteration ?? ""} onChange={(event) => go(event.target.value ? Number(event.target.value) : undefined, event.target.value ? undefined : since)}>
        <option value="">{t("diff.total")}</option>
        {numbers.map((number) => <option key={number} value={number}>{t("feed.iteration", { number })}</option>)}
      </select>
      <label className="flex min-w-0 items-center gap-1.5 text-xs text-soft max-sm:flex-1">
        <span className="max-sm:sr-only">{t("diff.against")}</span>
        <select aria-label={t("diff.against")} className="field w-auto min-w-0 max-sm:flex-1" value={since ?? ""} onChange={(event) => go(iteration, event.target.value || undefined)}>
          <option value="">{iteration === undefined ? t("rollback.base") : t("diff.previous")}</option>
          {iteration === undefined ? null : <option value="0">{t("rollback.base")}</option>}
          {target && loop.branch ? <option value="target">{t("diff.target", { target })}</option> : null}
          {numbers.filter((number) => iteration === undefined || number < iteration).map((number) => <option key={number} value={String(number)}>{t("feed.iteration", { number })}</option>)}
        </select>
      </label>
    </>
  );
}

/** What the agent changed and is in no commit: protected paths, and files that were held back. */
function Kept({ loop, iteration, since }: Pick<Props, "loop" | "iteration" | "since">) {
  const { t } = useTranslation();
  const first = Number(since ?? (iteration === undefined ? 0 : iteration - 1)) || 0;
  const records = loop.history.filter((record) => record.iteration > first && record.iteration <= (iteration ?? Number.POSITIVE_INFINITY));
  const restored = [...new Set(records.flatMap((record) => (record.checkpoint.restored ?? []).map((file) => file.path)))];
  const held = records.at(-1)?.checkpoint.held_back ?? [];
  if (restored.length + held.length === 0) return null;
  return (
    <ul data-kept className="mx-2 mb-2 space-y-1 rounded-md border border-wait bg-wait-soft px-3 py-2 text-xs sm:mx-4">
      {restored.map((path) => <li key={path} className="flex flex-wrap items-center gap-1.5"><Lock className="size-3.5 shrink-0 text-wait" /><span className="font-medium text-wait">{t("diff.protected")}</span><code className="break-all">{path}</code></li>)}
      {held.map((words) => <li key={words} className="flex flex-wrap items-center gap-1.5"><Warn className="size-3.5 shrink-0 text-bad" /><span className="font-medium text-bad">{t("diff.held_back")}</span><code className="break-all">{words}</code></li>)}
    </ul>
  );
}

/** The comments so far, on their way to the agent. */
function CommentBar({ loop, comments, onAsk, onComments }: { loop: LoopView; comments: readonly Comment[]; onAsk: Props["onAsk"]; onComments: (next: readonly Comment[]) => void }) {
  const { t } = useTranslation();
  const send = (verb: "steer" | "reject") => onAsk(verb, messageOf(comments), () => onComments([]));
  const asks = asksForReview(loop);
  return (
    <div data-comments role="toolbar" aria-label={t("comment.label")} className="flex flex-wrap items-center gap-2 border-t border-line bg-ask-soft px-3 py-2 sm:px-4">
      <span className="inline-flex items-center gap-1.5 text-sm font-medium text-ask"><Message className="size-4" />{t("comment.count", { count: comments.length })}</span>
      {asks ? <Button small tone="accent" onClick={() => send("reject")}>{t("comment.reject")}</Button> : null}
      {isOpen(loop.status) || loop.status === "paused" ? <Button small tone={asks ? "plain" : "accent"} onClick={() => send("steer")}>{t("comment.steer")}</Button> : null}
      <Button small onClick={() => void navigator.clipboard.writeText(messageOf(comments))}>{t("action.copy")}</Button>
      <Button small tone="quiet" className="ml-auto" onClick={() => onComments([])}>{t("comment.discard")}</Button>
    </div>
  );
}
