import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { get, isUnauthorised } from "../api/client";
import type { QueueView } from "../api/types";
import { Unauthorised } from "../app/Unauthorised";
import { GROUPS } from "../groups/useGroup";
import { useItemKeys } from "../lib/keys";
import { useTitle } from "../lib/title";
import { ProjectPicker } from "../pages/ProjectPicker";
import { useProject } from "../pages/useProjects";
import { Plus, Queue, Warn } from "../ui/icons";
import { Button, Empty, Loading, Problem } from "../ui/primitives";
import { AddGoalsDialog } from "./AddGoalsDialog";
import { GoalList } from "./GoalList";
import { MergeQueue } from "./MergeQueue";

/** Goals that wait for their turn, and finished work that waits to be merged. */
export function QueuePage() {
  const { t } = useTranslation();
  const place = useProject();
  const [adding, add] = useState(false);
  const queue = useQuery({ queryKey: [...GROUPS, "queue"], queryFn: ({ signal }) => get<QueueView>("/api/queue", signal) });
  useTitle(t("nav.queue"));
  useItemKeys();
  if (isUnauthorised(place.error ?? queue.error)) return <Unauthorised />;
  const goals = (queue.data?.goals ?? []).filter((goal) => !place.project || goal.project === place.project);
  return (
    <div className="mx-auto max-w-5xl space-y-4 px-2 py-3 sm:px-4">
      <div className="flex flex-wrap items-center gap-3">
        <h1>{t("nav.queue")}</h1>
        {place.projects.length > 0 ? <ProjectPicker projects={place.projects} value={place.project} onChange={place.choose} none={t("loops.any_project")} /> : null}
        <Button small className="ml-auto" disabled={place.projects.length === 0} onClick={() => add(true)}><Plus className="size-3.5" />{t("queue.add")}</Button>
      </div>
      <section aria-labelledby="goals" className="space-y-2">
        <h2 id="goals">{t("queue.title")} <span className="figures font-normal text-soft">{goals.length}</span></h2>
        {queue.isLoading ? <Loading /> : null}
        {queue.error && !queue.data ? <Problem error={queue.error} onRetry={() => void queue.refetch()} /> : null}
        {queue.data && !queue.data.driven && queue.data.goals.length > 0 ? <p data-idle className="flex items-center gap-1.5 text-sm text-wait"><Warn className="size-3.5 shrink-0" />{t("queue.idle")}</p> : null}
        {queue.data && goals.length === 0 ? <Empty icon={<Queue />} title={t("queue.none")}>{t("queue.none_hint")}</Empty> : null}
        {queue.data && goals.length > 0 ? <GoalList queue={queue.data} goals={goals} /> : null}
        {queue.data && goals.length > 0 ? <p className="text-xs text-soft">{t("queue.limits", { project: queue.data.limits.per_project, account: queue.data.limits.per_account, machine: queue.data.limits.machine })}</p> : null}
      </section>
      {place.project ? <MergeQueue project={place.project} /> : null}
      {adding ? <AddGoalsDialog projects={place.projects} project={place.project || (place.projects[0]?.path ?? "")} goals={queue.data?.goals ?? []} onClose={() => add(false)} /> : null}
    </div>
  );
}
