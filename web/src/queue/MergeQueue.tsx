import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { get, query, send } from "../api/client";
import type { MergesEntryView, MergesReport, MergesView } from "../api/types";
import { GROUPS } from "../groups/useGroup";
import { commit } from "../lib/format";
import { say, sayProblem } from "../lib/toast";
import { LOOPS, useLoops } from "../loops/useLoops";
import { Cross, Gate, Merged, Play, Plus, Ring, Stop, Trash, Undo } from "../ui/icons";
import { Button, IconButton, Loading, Problem } from "../ui/primitives";
import { StatusBadge } from "../ui/status";
import { entryWords, isOpenQueue, pausedWords } from "./queue";

/** The merge queue of a project: what waits, what is judged, what is merged, and what went back to its agent. */
export function MergeQueue({ project }: { project: string }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const report = useQuery({ queryKey: [...GROUPS, "merges", project], enabled: project !== "", queryFn: ({ signal }) => get<MergesReport>(`/api/merges${query({ project })}`, signal) });
  const act = useMutation({
    mutationFn: ({ path, body }: { path: string; body: object }) => send<MergesReport>("POST", path, body),
    onSuccess: (now) => queries.setQueryData([...GROUPS, "merges", project], now),
    onError: (error) => sayProblem(error, t),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: GROUPS });
      void queries.invalidateQueries({ queryKey: LOOPS });
    },
  });
  const queue = report.data?.queue ?? null;
  const open = queue !== null && isOpenQueue(queue);
  return (
    <section aria-labelledby="merges" className="space-y-2">
      <div className="flex flex-wrap items-center gap-2">
        <h2 id="merges" className="mr-auto">{t("merges.title")}{queue ? <span className="ml-2 font-normal text-soft">{t("merges.into", { target: queue.target })}</span> : null}</h2>
        <AddLoop project={project} queue={open ? queue : null} busy={act.isPending} onAdd={(id) => act.mutate({ path: "/api/merges", body: { loops: [id], start: true } }, { onSuccess: () => say(t("merges.added")) })} />
        {open && queue.status !== "running" ? <Button small tone="accent" disabled={act.isPending} onClick={() => act.mutate({ path: "/api/merges/work", body: { project } })}><Play className="size-3.5" />{t("merges.work")}</Button> : null}
        {open ? <Button small tone="danger" disabled={act.isPending} onClick={() => act.mutate({ path: `/api/merges/${encodeURIComponent(queue.id)}/stop`, body: {} })}><Stop className="size-3.5" />{t("merges.stop")}</Button> : null}
      </div>
      {report.isLoading ? <Loading lines={2} /> : null}
      {report.error && !report.data ? <Problem error={report.error} onRetry={() => void report.refetch()} /> : null}
      {report.data && !queue ? <p className="card px-3 py-3 text-sm text-soft">{t("merges.none")}</p> : null}
      {queue ? <Queue queue={queue} onRemove={(entry) => act.mutate({ path: "/api/merges", body: { loops: [entry.id], remove: true } })} /> : null}
    </section>
  );
}

function Queue({ queue, onRemove }: { queue: MergesView; onRemove: (entry: MergesEntryView) => void }) {
  const { t } = useTranslation();
  const paused = pausedWords(queue, t);
  return (
    <div data-merges={queue.status} className="card px-3 py-2.5">
      <p className="flex flex-wrap items-center gap-2 text-sm"><StatusBadge status={queue.status} />{queue.step ? <span className="text-soft">{t(`merges.step_${queue.step as "judge"}`, { defaultValue: queue.step })}</span> : null}</p>
      {paused ? <p className="mt-1 text-sm break-words text-bad">{paused}</p> : null}
      <ol className="mt-2 divide-y divide-line">{queue.entries.map((entry) => <Entry key={entry.id} entry={entry} onRemove={() => onRemove(entry)} />)}</ol>
    </div>
  );
}

const SIGN = { queued: Ring, batched: Gate, merged: Merged, returned: Undo, refused: Cross } as const;
const TONE = { queued: "text-idle", batched: "text-run", merged: "text-good", returned: "text-wait", refused: "text-bad" } as const;

function Entry({ entry, onRemove }: { entry: MergesEntryView; onRemove: () => void }) {
  const { t } = useTranslation();
  const status = (entry.status in SIGN ? entry.status : "queued") as keyof typeof SIGN;
  const Sign = SIGN[status];
  const words = entryWords(entry, t);
  return (
    <li data-entry={entry.name} data-status={entry.status} className="flex items-start gap-2 py-1.5 text-sm">
      <span className={clsx("flex w-28 shrink-0 items-center gap-1.5 text-xs font-medium", TONE[status])}><Sign className="size-3.5 shrink-0" />{t(`merges.status_${status}`)}</span>
      <div className="min-w-0 grow">
        <Link to="/loops/$id" params={{ id: entry.id }} className="break-all text-accent underline">{entry.name}</Link>
        {entry.commit ? <code className="ml-2 text-xs text-soft">{commit(entry.commit)}</code> : null}
        {entry.returns > 0 ? <span className="ml-2 text-xs text-soft">{t("merges.returns", { count: entry.returns })}</span> : null}
        {words ? <p className={clsx("text-xs break-words", status === "refused" ? "text-bad" : "text-wait")}>{words}</p> : null}
      </div>
      {status === "queued" ? <IconButton small label={t("merges.remove", { name: entry.name })} onClick={onRemove}><Trash className="size-3.5" /></IconButton> : null}
    </li>
  );
}

/** Verified loops of the project that are neither merged nor in the queue. */
function AddLoop({ project, queue, busy, onAdd }: { project: string; queue: MergesView | null; busy: boolean; onAdd: (id: string) => void }) {
  const { t } = useTranslation();
  const loops = useLoops();
  const [chosen, choose] = useState("");
  const queued = new Set(queue?.entries.filter((entry) => entry.status !== "refused").map((entry) => entry.id));
  const ready = (loops.data ?? []).filter((loop) => loop.project === project && loop.verified && loop.status === "completed" && !loop.merged && loop.branch && !queued.has(loop.id));
  if (ready.length === 0) return null;
  return (
    <span className="flex gap-1">
      <select aria-label={t("merges.choose")} className="field w-auto max-w-52" value={chosen} onChange={(event) => choose(event.target.value)}><option value="">{t("merges.choose")}</option>{ready.map((loop) => <option key={loop.id} value={loop.id}>{loop.name}</option>)}</select>
      <Button small disabled={!chosen || busy} onClick={() => { onAdd(chosen); choose(""); }}><Plus className="size-3.5" />{t("merges.add")}</Button>
    </span>
  );
}
