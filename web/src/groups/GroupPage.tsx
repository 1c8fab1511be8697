import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { TFunction } from "i18next";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { isUnauthorised, send } from "../api/client";
import type { TriesView } from "../api/types";
import { useCommands, type Command } from "../app/commands";
import { Unauthorised } from "../app/Unauthorised";
import { useNow } from "../lib/clock";
import { baseName, money, short } from "../lib/format";
import { useItemKeys, useKeys } from "../lib/keys";
import { useTitle } from "../lib/title";
import { say, sayProblem } from "../lib/toast";
import { canMerge } from "../loop/merge";
import { ActionDialog, type Asked } from "../loops/actions";
import { Bar, MergedMark } from "../loops/parts";
import { LOOPS, useLoops } from "../loops/useLoops";
import { Chevron, Flag, Merged, Play, Search, Stop } from "../ui/icons";
import { Dialog } from "../ui/Dialog";
import { Button, Empty, Loading, Problem } from "../ui/primitives";
import { StatusBadge, statusName } from "../ui/status";
import { TriesTable } from "./TriesTable";
import { canResumeGroup, canStop, comparable, linesOf, nameOf, totalCost, winnerOf } from "./tries";
import { GROUPS, useGroup } from "./useGroup";

/** Best of N: the same goal several times, compared. */
export function GroupPage() {
  const { t } = useTranslation();
  const { id } = useParams({ from: "/groups/$id" });
  const found = useGroup(id);
  if (isUnauthorised(found.error)) return <Unauthorised />;
  if (found.error && !found.data) return <Problem error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Loading lines={8} />;
  if (!found.data.group) return <Empty icon={<Search />} title={t(found.data.merges ? "tries.is_merges" : "tries.none", { name: id })}><Link to={found.data.merges ? "/queue" : "/"} className="text-accent underline">{t(found.data.merges ? "nav.queue" : "nav.loops")}</Link></Empty>;
  return <Loaded key={id} group={found.data.group} />;
}

function useGroupAction(group: TriesView) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (verb: "stop" | "resume") => send<TriesView>("POST", `/api/groups/${encodeURIComponent(group.id)}/${verb}`),
    onSuccess: (_, verb) => say(t(`tries.done_${verb}`, { name: group.name })),
    onError: (error) => sayProblem(error, t),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: GROUPS });
      void queries.invalidateQueries({ queryKey: LOOPS });
    },
  });
}

function Loaded({ group }: { group: TriesView }) {
  const { t } = useTranslation();
  const loops = useLoops();
  const now = useNow();
  const act = useGroupAction(group);
  const [asked, ask] = useState<Asked | null>(null);
  const [stopping, askStop] = useState(false);
  const lines = useMemo(() => linesOf(group, loops.data ?? [], now), [group, loops.data, now]);
  const compared = comparable(lines);
  const winner = lines.find((line) => line.each.number === group.winner)?.loop;
  const mergeable = winner && canMerge(winner) ? winner : undefined;
  const resumable = canResumeGroup(group);
  const commands = useMemo((): Command[] => [
    ...(canStop(group) ? [{ id: "stop", group: group.name, label: t("action.stop"), keys: "s", run: () => askStop(true) }] : []),
    ...(resumable ? [{ id: "resume", group: group.name, label: t("action.resume"), keys: "p", run: () => act.mutate("resume") }] : []),
    // eslint-disable-next-line react-hooks/exhaustive-deps
  ], [group, resumable, t]);
  useCommands("group", commands);
  useKeys({ s: () => canStop(group) && askStop(true), p: () => resumable && act.mutate("resume") });
  useItemKeys();
  useTitle(group.name, t(`status.${statusName(group.status)}`), baseName(group.project));
  const spent = group.stopped_at ? group.cost_usd : totalCost(lines);
  const tokens = group.stopped_at ? group.tokens : lines.reduce((sum, line) => sum + line.tokens, 0);
  return (
    <div data-group={group.status} className="mx-auto max-w-6xl space-y-3 px-2 py-3 sm:px-4">
      <header className="card px-3 py-2.5">
        <nav aria-label={t("loop.way_back")} className="flex items-center gap-1 text-xs text-soft">
          <Link to="/" className="rounded py-0.5 underline-offset-2 hover:underline">{t("nav.loops")}</Link>
          <Chevron className="size-3 text-faint" />
          <Link to="/" search={{ project: group.project }} title={group.project} className="truncate rounded py-0.5 underline-offset-2 hover:underline">{baseName(group.project)}</Link>
        </nav>
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
          <h1 className="min-w-0 break-all">{group.name}</h1>
          <span className="text-sm whitespace-nowrap text-soft">{t("tries.best_of", { count: group.tries.length })}</span>
          <StatusBadge status={group.status} />
          {winner?.merged ? <MergedMark merged={winner.merged} /> : null}
          <div className="flex flex-wrap items-center gap-1 sm:ml-auto">
            {mergeable ? <Button small tone="accent" onClick={() => ask({ verb: "merge", loop: mergeable })}><Merged className="size-3.5" />{t("tries.merge", { name: mergeable.name })}</Button> : null}
            {compared.length > 1 ? <Link to="/compare" search={{ loops: compared.join(",") }} className="inline-flex min-h-7 items-center rounded-md border border-line-strong bg-panel px-2 text-xs font-medium hover:bg-sunken">{t("compare.title")}</Link> : null}
            {resumable ? <Button small tone="accent" disabled={act.isPending} onClick={() => act.mutate("resume")}><Play className="size-3.5" />{t("action.resume")}</Button> : null}
            {canStop(group) ? <Button small tone="danger" disabled={act.isPending} onClick={() => askStop(true)}><Stop className="size-3.5" />{t("action.stop")}</Button> : null}
          </div>
        </div>
        <p className="mt-1 text-sm break-words whitespace-pre-wrap text-soft">{group.goal}</p>
        <dl className="mt-2 flex flex-wrap gap-x-6 gap-y-2 text-sm">
          <div><dt className="text-[11px] text-faint">{t("tries.ends")}</dt><dd>{t(group.first ? "tries.ends_first" : "tries.ends_all")}</dd></div>
          <div><dt className="text-[11px] text-faint">{t("tries.losers")}</dt><dd>{t(`tries.losers_${group.losers}`)}</dd></div>
          <div><dt className="text-[11px] text-faint">{t("tries.cost_all")}</dt><dd>{spent === null && !group.budget_usd ? <span className="text-faint">{t("usage.unknown")}</span> : <Bar value={spent ?? 0} max={group.budget_usd} show={money} label={t("tries.cost_all")} />}</dd></div>
          <div><dt className="text-[11px] text-faint">{t("loop.token_limit")}</dt><dd><Bar value={tokens} max={group.max_tokens} show={short} label={t("loop.token_limit")} /></dd></div>
        </dl>
      </header>
      <Verdict group={group} />
      <section aria-label={t("tries.comparison")} className="card overflow-x-auto md:px-2 md:pb-1"><TriesTable group={group} lines={lines} /></section>
      <Rules group={group} />
      {stopping ? (
        <Dialog open onClose={() => askStop(false)} title={t("ask.stop.title", { name: group.name })} footer={<><Button onClick={() => askStop(false)}>{t("action.cancel")}</Button><Button tone="danger" disabled={act.isPending} onClick={() => act.mutate("stop", { onSettled: () => askStop(false) })}>{t("action.stop")}</Button></>}>
          <p className="text-sm text-soft">{t("tries.stop_text")}</p>
        </Dialog>
      ) : null}
      <ActionDialog asked={asked} onClose={() => ask(null)} />
    </div>
  );
}

function stoppedWords(group: TriesView, t: TFunction): string | null {
  const why = group.stopped;
  if (!why) return null;
  return why.type === "first" ? t("tries.stopped_first", { name: nameOf(group, why.number) }) : t(`tries.stopped_${why.type}`);
}

/** What was picked and why; or that nothing was. */
function Verdict({ group }: { group: TriesView }) {
  const { t } = useTranslation();
  const winner = winnerOf(group);
  const stopped = stoppedWords(group, t);
  const words = winner
    ? t(group.because ? "tries.picked_because" : "tries.picked_only", { name: winner.name, rule: group.because ? t(`rule.${group.because}`) : "" })
    : group.stopped_at ? t("tries.picked_none") : group.status === "paused" ? t("tries.paused") : null;
  if (!words && !stopped) return null;
  return (
    <div data-verdict aria-live="polite" className={`rounded-md border px-3 py-2 text-sm ${winner ? "border-good bg-good-soft" : group.stopped_at || group.status === "paused" ? "border-wait bg-wait-soft" : "border-line bg-panel"}`}>
      {words ? <p className="flex items-start gap-1.5 font-medium break-words">{winner ? <Flag className="mt-0.5 size-3.5 shrink-0 text-good" /> : null}{words}{winner && !winner.verified ? <span className="font-normal text-wait">{t("completed.claimed")}</span> : null}</p> : null}
      {stopped ? <p className="text-soft">{stopped}</p> : null}
    </div>
  );
}

/** The rules in their order, the one that decided marked. */
function Rules({ group }: { group: TriesView }) {
  const { t } = useTranslation();
  return (
    <section aria-label={t("tries.rules")} className="card px-3 py-2.5">
      <h2>{t("tries.rules")}</h2>
      <p className="text-xs text-soft">{t("tries.rules_hint")}</p>
      <ol data-rules className="mt-1.5 list-decimal space-y-0.5 pl-5 text-sm">
        {group.rules.map((rule) => <li key={rule} aria-current={group.because === rule ? "true" : undefined} className={group.because === rule ? "font-semibold text-good" : undefined}>{t(`rule.${rule}`)}{group.because === rule ? <span className="font-normal"> · {t("tries.decided")}</span> : null}</li>)}
      </ol>
    </section>
  );
}
