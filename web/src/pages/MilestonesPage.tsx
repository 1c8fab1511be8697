import { useMutation, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { get, isUnauthorised, query, send } from "../api/client";
import type { MilestoneBoard, MilestoneReport } from "../api/types";
import { Unauthorised } from "../app/Unauthorised";
import { useItemKeys } from "../lib/keys";
import { sayProblem } from "../lib/toast";
import { phaseWords } from "../loop/phase";
import { ActionDialog, type Target, type Verb } from "../loops/actions";
import { useTitle } from "../lib/title";
import { Check, Down, Flag, Plus, Ring, Up } from "../ui/icons";
import { Button, Empty, IconButton, Loading, Problem } from "../ui/primitives";
import { StatusBadge, isOpen } from "../ui/status";
import { NewMilestoneDialog } from "./NewMilestoneDialog";
import { ProjectPicker } from "./ProjectPicker";
import { reordered } from "./milestoneOrder";
import { StartMilestoneDialog } from "./StartMilestoneDialog";
import { useProject } from "./useProjects";

const COLUMNS = ["pending", "at_work", "person", "done"] as const;
type Column = (typeof COLUMNS)[number];

function columnOf(status: string): Column {
  if (status === "pending") return "pending";
  if (isOpen(status) || status === "in_progress") return "at_work";
  return status === "completed" ? "done" : "person";
}

export function MilestonesPage() {
  const { t } = useTranslation();
  useTitle(t("nav.milestones"));
  const queries = useQueryClient();
  const place = useProject();
  useItemKeys();
  const [adding, add] = useState(false);
  const [dragged, drag] = useState<string | null>(null);
  const [starting, start] = useState<MilestoneReport | null>(null);
  const [asked, ask] = useState<{ verb: Verb; loop: Target } | null>(null);
  const key = ["milestones", place.project];
  const board = useQuery({ queryKey: key, enabled: place.project !== "", queryFn: ({ signal }) => get<MilestoneBoard>(`/api/milestones${query({ project: place.project })}`, signal) });
  const fail = (error: unknown) => sayProblem(error, t);
  const order = useMutation({ mutationFn: (ids: string[]) => send<MilestoneBoard>("PUT", "/api/milestones/order", { project: place.project, ids }), onSuccess: (now) => queries.setQueryData(key, now), onError: fail });
  if (isUnauthorised(place.error ?? board.error)) return <Unauthorised />;
  const all = board.data?.milestones ?? [];
  const movable = all.filter((each) => columnOf(each.status) === "pending").map((each) => each.id);
  const put = (id: string, other: string) => {
    const ids = all.map((each) => each.id);
    const now = reordered(ids, movable, id, other);
    if (now.join() !== ids.join()) order.mutate(now);
  };
  const move = (id: string, by: number) => {
    const other = movable[movable.indexOf(id) + by];
    if (other !== undefined) put(id, other);
  };
  return (
    <div className="mx-auto max-w-[110rem] px-3 py-4 sm:px-5">
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <h1>{t("nav.milestones")}</h1>
        {place.projects.length > 0 ? <ProjectPicker projects={place.projects} value={place.project} onChange={place.choose} /> : null}
        <Button small className="ml-auto" disabled={!place.project} onClick={() => add(true)}><Plus className="size-3.5" />{t("milestones.add")}</Button>
      </div>
      {place.ready && !place.project ? <Empty icon={<Flag />} title={t("milestones.no_project")}>{t("milestones.no_project_hint")}</Empty> : null}
      {!place.ready || (board.isPending && place.project) ? <Loading /> : null}
      {board.error ? <Problem error={board.error} onRetry={() => void board.refetch()} /> : null}
      {(board.data?.broken ?? []).map((text, index) => <Problem key={index} error={new Error(text)} />)}
      {board.data && all.length === 0 ? <Empty icon={<Flag />} title={t("milestones.none")}>{t("milestones.none_hint")}<Elsewhere place={place} /></Empty> : null}
      {all.length > 0 ? (
        <div className="grid grid-cols-1 gap-3 md:grid-cols-2 xl:grid-cols-4">
          {COLUMNS.map((column) => {
            const here = all.filter((each) => columnOf(each.status) === column);
            return (
              <section key={column} aria-label={t(`milestones.${column}`)} className="rounded-lg bg-sunken p-2">
                <h2 className="px-1 pb-2 text-soft">{t(`milestones.${column}`)} <span className="figures font-normal">{here.length}</span></h2>
                <ol className="space-y-2">
                  {here.map((each, index) => (
                    <Card key={each.id} milestone={each} first={index === 0} last={index === here.length - 1} movable={column === "pending"} onMove={(by) => move(each.id, by)} dragged={dragged} onDrag={drag} onDrop={(id) => put(id, each.id)} onStart={() => start(each)} onAsk={(verb) => each.loop && ask({ verb, loop: each.loop })} />
                  ))}
                </ol>
              </section>
            );
          })}
        </div>
      ) : null}
      <NewMilestoneDialog key={String(adding)} open={adding} project={place.project} onClose={() => add(false)} onMade={(now) => queries.setQueryData(key, now)} />
      {starting ? <StartMilestoneDialog milestone={starting} project={place.project} onClose={() => start(null)} onStarted={() => void queries.invalidateQueries({ queryKey: key })} /> : null}
      <ActionDialog asked={asked} onClose={() => { ask(null); void queries.invalidateQueries({ queryKey: key }); }} />
    </div>
  );
}

/** Where there are milestones, if there are none here. */
function Elsewhere({ place }: { place: ReturnType<typeof useProject> }) {
  const { t } = useTranslation();
  const others = place.projects.filter((each) => each.path !== place.project).slice(0, MOST_PROJECTS);
  const boards = useQueries({ queries: others.map(({ path }) => ({ queryKey: ["milestones", path], queryFn: ({ signal }: { signal: AbortSignal }) => get<MilestoneBoard>(`/api/milestones${query({ project: path })}`, signal) })) });
  const found = others.flatMap((project, index) => { const count = boards[index]?.data?.milestones.length ?? 0; return count > 0 ? [{ ...project, count }] : []; });
  if (found.length === 0) return null;
  return <span data-elsewhere className="mt-3 flex flex-wrap items-center justify-center gap-2">{t("milestones.elsewhere")}{found.map(({ path, name, count }) => <Button key={path} small title={path} onClick={() => place.choose(path)}>{name} <span className="figures text-soft">{count}</span></Button>)}</span>;
}

/** So many are asked. */
const MOST_PROJECTS = 24;

interface CardProps {
  milestone: MilestoneReport;
  first: boolean;
  last: boolean;
  movable: boolean;
  /** The one that is being dragged. */
  dragged: string | null;
  onDrag: (id: string | null) => void;
  onDrop: (id: string) => void;
  onMove: (by: number) => void;
  onStart: () => void;
  onAsk: (verb: Verb) => void;
}

/** One that has not begun is dragged to its place, or moved with its buttons. */
function Card({ milestone, first, last, movable, dragged, onDrag, onDrop, onMove, onStart, onAsk }: CardProps) {
  const { t } = useTranslation();
  const [over, setOver] = useState(false);
  const takes = movable && dragged !== null && dragged !== milestone.id;
  const features = milestone.features ?? [];
  const accepted = new Set((milestone.loop?.review?.features_accepted ?? []).map((feature) => (feature as { feature?: string; id?: string }).feature ?? (feature as { id?: string }).id));
  const done = (feature: { id: string; done?: boolean }) => feature.done === true || accepted.has(feature.id) || milestone.status === "completed";
  const asks = milestone.status === "awaiting_review" || (milestone.status === "paused" && Boolean(milestone.loop));
  return (
    <li
      data-item data-milestone={milestone.id} tabIndex={-1} draggable={movable} className={clsx("card px-3 py-2.5", movable && "cursor-grab", dragged === milestone.id && "opacity-50", takes && over && "ring-2 ring-accent")}
      onDragStart={(event) => { event.dataTransfer.setData("text/plain", milestone.id); event.dataTransfer.effectAllowed = "move"; onDrag(milestone.id); }}
      onDragEnd={() => onDrag(null)}
      onDragOver={(event) => { if (takes) { event.preventDefault(); setOver(true); } }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => { event.preventDefault(); setOver(false); if (takes) onDrop(dragged); }}
    >
      <div className="flex items-start gap-2">
        <div className="min-w-0 grow">
          <h3 className="font-medium break-words">{milestone.loop ? <Link to="/loops/$id" params={{ id: milestone.loop.id }} className="underline decoration-line underline-offset-2 hover:decoration-accent">{milestone.title}</Link> : milestone.title}</h3>
          <code className="text-xs text-faint">{milestone.id}</code>
        </div>
        {movable ? (
          <span className="flex">
            <IconButton label={t("milestones.earlier")} small disabled={first} onClick={() => onMove(-1)}><Up className="size-3.5" /></IconButton>
            <IconButton label={t("milestones.later")} small disabled={last} onClick={() => onMove(1)}><Down className="size-3.5" /></IconButton>
          </span>
        ) : <StatusBadge status={milestone.status} outcome={milestone.loop?.outcome} />}
      </div>
      {features.length > 0 ? (
        <ul className="mt-2 space-y-1 text-xs">
          {features.map((feature) => (
            <li key={feature.id} className="grid grid-cols-[1.25rem_minmax(0,1fr)]">
              {done(feature) ? <Check label={t("section.done")} className="mt-px size-3.5 text-good" /> : <Ring className="mt-px size-3.5 text-faint" />}
              <span className="break-words"><strong className="font-medium">{feature.id}</strong> {feature.text}{feature.acceptance ? <span className="block text-soft">{feature.acceptance}</span> : null}</span>
            </li>
          ))}
        </ul>
      ) : null}
      {(milestone.acceptance_criteria ?? []).length > 0 ? (
        <details className="mt-2 text-xs"><summary className="text-soft">{t("milestones.acceptance", { count: (milestone.acceptance_criteria ?? []).length })}</summary>
          <ul className="mt-1 space-y-0.5">{(milestone.acceptance_criteria ?? []).map((criterion, index) => <li key={index} className="grid grid-cols-[1.25rem_minmax(0,1fr)] break-words">{criterion.done || milestone.status === "completed" ? <Check label={t("section.done")} className="mt-px size-3.5 text-good" /> : <Ring className="mt-px size-3.5 text-faint" />}<span>{criterion.text}</span></li>)}</ul>
        </details>
      ) : null}
      {milestone.loop ? <p className="figures mt-2 text-xs text-soft">{t("milestones.rounds", { count: milestone.loop.iterations })}{(milestone.loop.review?.consecutive_rejections ?? 0) > 0 ? <span className="text-bad"> · {t("loop.rejections", { count: milestone.loop.review?.consecutive_rejections ?? 0 })}</span> : null}</p> : null}
      {milestone.loop && milestone.status !== "completed" ? <p className={clsx("mt-1 text-xs break-words", asks && "text-ask")}>{phaseWords(milestone.loop, t)}</p> : null}
      <div className="mt-2 flex flex-wrap gap-1.5">
        {movable ? <Button small onClick={onStart}>{t("milestones.start")}</Button> : null}
        {asks ? <><Button small tone="accent" onClick={() => onAsk("approve")}>{t("action.approve")}</Button><Button small tone="danger" onClick={() => onAsk("reject")}>{t("action.reject")}</Button></> : null}
      </div>
    </li>
  );
}
