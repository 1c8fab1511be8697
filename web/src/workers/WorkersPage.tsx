import { useMutation, useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { isUnauthorised, send } from "../api/client";
import type { WorkerView } from "../api/types";
import { Unauthorised } from "../app/Unauthorised";
import { duration } from "../lib/format";
import { useItemKeys } from "../lib/keys";
import { useTitle } from "../lib/title";
import { say } from "../lib/toast";
import { Meter } from "../loops/parts";
import { Dialog } from "../ui/Dialog";
import { Cross, Dot, Down, Server } from "../ui/icons";
import { Button, Empty, Loading, Problem } from "../ui/primitives";
import { WORKERS, useWorkers } from "./useWorkers";

/** Which machines drive the loops of this fleet, how many each has, and which of them is leaving. */
export function WorkersPage() {
  const { t } = useTranslation();
  useTitle(t("nav.workers"));
  useItemKeys();
  const workers = useWorkers(true);
  const [asked, ask] = useState<WorkerView | null>(null);
  if (isUnauthorised(workers.error)) return <Unauthorised />;
  return (
    <div className="mx-auto max-w-6xl px-3 py-4 sm:px-5">
      <h1 className="mb-3">{t("nav.workers")}</h1>
      {workers.isPending ? <Loading /> : null}
      {workers.error ? <Problem error={workers.error} onRetry={() => void workers.refetch()} /> : null}
      {workers.data?.length === 0 ? <Empty icon={<Server />} title={t("workers.none")}>{t("workers.none_hint")}</Empty> : null}
      <ul className="grid grid-cols-1 gap-2.5 sm:grid-cols-2 xl:grid-cols-3">
        {(workers.data ?? []).map((worker) => <Worker key={worker.id} worker={worker} onDrain={() => ask(worker)} />)}
      </ul>
      {asked ? <DrainDialog worker={asked} onClose={() => ask(null)} /> : null}
    </div>
  );
}

function Worker({ worker, onDrain }: { worker: WorkerView; onDrain: () => void }) {
  const { t } = useTranslation();
  const state = !worker.is_alive ? "gone" : worker.is_draining ? "draining" : "alive";
  const Mark = { gone: Cross, draining: Down, alive: Dot }[state];
  return (
    <li data-item data-worker={state} tabIndex={-1} className="card px-3 py-2.5 text-sm">
      <div className="flex items-center gap-2">
        <h2 className="min-w-0 truncate" title={worker.id}>{worker.name}</h2>
        <span className={clsx("inline-flex items-center gap-1 text-xs whitespace-nowrap", { gone: "text-bad", draining: "text-wait", alive: "text-run" }[state])}><Mark className="size-3.5" />{t(`workers.${state}`)}</span>
        {state === "alive" && !worker.is_desk ? <Button small className="ml-auto" onClick={onDrain}>{t("workers.drain")}</Button> : null}
      </div>
      <p className="figures mt-1 text-xs text-soft">{[t(worker.is_desk ? "workers.desk" : "workers.worker"), worker.version, t("workers.seen", { ago: duration(worker.seen_s_ago * 1000) })].filter(Boolean).join(" · ")}</p>
      {worker.is_desk ? null : <div className="mt-1.5"><span className="text-xs text-faint">{t("nav.loops")}</span><span className="figures block">{worker.loops}{worker.slots ? <span className="text-soft"> / {worker.slots}</span> : null}</span>{worker.slots ? <Meter value={worker.loops} max={worker.slots} label={t("nav.loops")} /> : null}</div>}
    </li>
  );
}

function DrainDialog({ worker, onClose }: { worker: WorkerView; onClose: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const drain = useMutation({
    mutationFn: () => send<WorkerView[]>("POST", `/api/workers/${encodeURIComponent(worker.id)}/drain`, {}),
    onSuccess: (now) => {
      queries.setQueryData(WORKERS, now);
      say(t("workers.drained", { name: worker.name }));
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title={t("workers.drain_title", { name: worker.name })} footer={<><Button onClick={onClose}>{t("action.cancel")}</Button><Button tone="danger" disabled={drain.isPending} onClick={() => drain.mutate()}>{t("workers.drain")}</Button></>}>
      <p className="text-sm text-soft">{t("workers.drain_text")}</p>
      {drain.error ? <Problem error={drain.error} /> : null}
    </Dialog>
  );
}
