import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import clsx from "clsx";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { isUnauthorised } from "../api/client";
import type { LoopSummary } from "../api/types";
import { baseName } from "../lib/format";
import { useKeys } from "../lib/keys";
import { Plus, Search, Wave } from "../ui/icons";
import { Empty, Loading, Problem } from "../ui/primitives";
import { STATUSES, canResume, isOpen } from "../ui/status";
import { Unauthorised } from "../app/Unauthorised";
import { ActionDialog, useAct, type Target, type Verb } from "./actions";
import { arrange, type Shown } from "./arrange";
import { LoopRow, LoopRowHead } from "./LoopRow";
import { useLoops } from "./useLoops";

export function LoopsPage() {
  const { t } = useTranslation();
  const loops = useLoops();
  const search = useSearch({ from: "/" });
  const navigate = useNavigate();
  const [asked, ask] = useState<{ verb: Verb; loop: Target } | null>(null);
  const [selected, select] = useState<string | null>(null);
  const act = useAct();
  const box = useRef<HTMLInputElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const words = useDeferredValue(search.q ?? "");
  const shown = useMemo(() => arrange(loops.data ?? [], { q: words, status: search.status, project: search.project }), [loops.data, words, search.status, search.project]);
  const projects = useMemo(() => [...new Set((loops.data ?? []).map((loop) => loop.project))].sort(), [loops.data]);
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (shown[index]?.type === "group" ? 36 : 68),
    getItemKey: (index) => (shown[index] as Shown).key,
    overscan: 8,
  });
  const change = (part: { q?: string | undefined; status?: string | undefined; project?: string | undefined }) =>
    void navigate({ to: "/", search: Object.fromEntries(Object.entries({ ...search, ...part }).filter(([, value]) => value)), replace: true });

  const rows = shown.flatMap((row, index) => (row.type === "loop" ? [{ loop: row.loop, index }] : []));
  const at = rows.findIndex((row) => row.loop.id === selected);
  const current = rows[at]?.loop;
  const move = (by: number) => {
    const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    if (!next) return;
    select(next.loop.id);
    virtual.scrollToIndex(next.index);
    requestAnimationFrame(() => document.getElementById(`loop-${next.loop.id}`)?.focus());
  };
  const pause = (loop: LoopSummary) => (isOpen(loop.status) ? act.mutate({ loop, verb: "pause" }) : canResume(loop.status) ? ask({ verb: "resume", loop }) : undefined);
  useKeys({
    "/": () => box.current?.focus(),
    j: () => move(1),
    k: () => move(-1),
    s: () => current && isOpen(current.status) && ask({ verb: "stop", loop: current }),
    p: () => current && pause(current),
    m: () => current && ask({ verb: "steer", loop: current }),
    a: () => current && ask({ verb: "approve", loop: current }),
    r: () => current && ask({ verb: "reject", loop: current }),
  });
  useEffect(() => {
    document.title = `${(loops.data ?? []).filter((loop) => loop.status === "running").length} · Windlass`;
  }, [loops.data]);

  if (isUnauthorised(loops.error)) return <Unauthorised />;
  return (
    <div className="mx-auto flex h-full max-w-[110rem] flex-col">
      <h1 className="sr-only">{t("nav.loops")}</h1>
      <div className="flex flex-wrap items-center gap-2 px-3 py-2.5 sm:px-4">
        <div className="relative min-w-0 grow basis-56 sm:max-w-sm">
          <Search className="pointer-events-none absolute top-2.5 left-2.5 text-faint" />
          <input ref={box} type="search" aria-label={t("loops.search")} placeholder={t("loops.search_hint")} className="field pl-8" value={search.q ?? ""} onChange={(event) => change({ q: event.target.value })} />
        </div>
        <select aria-label={t("loops.status")} className="field w-auto max-w-40 grow basis-28 sm:grow-0" value={search.status ?? ""} onChange={(event) => change({ status: event.target.value })}>
          <option value="">{t("loops.any_status")}</option>
          <option value="open">{t("loops.open")}</option>
          <option value="person">{t("loops.needs_you")}</option>
          {STATUSES.map((name) => <option key={name} value={name}>{t(`status.${name}`)}</option>)}
        </select>
        <select aria-label={t("loops.project")} className="field w-auto max-w-48 grow basis-28 sm:grow-0" value={search.project ?? ""} onChange={(event) => change({ project: event.target.value })}>
          <option value="">{t("loops.any_project")}</option>
          {projects.map((path) => <option key={path} value={path}>{baseName(path)}</option>)}
        </select>
        <span aria-live="polite" className="ml-auto text-xs text-soft">{t("loops.count", { count: rows.length })}</span>
      </div>
      {loops.isPending ? <Loading lines={8} /> : null}
      {loops.error && !loops.data ? <Problem error={loops.error} onRetry={() => void loops.refetch()} /> : null}
      {loops.data?.length === 0 ? <NoLoops /> : null}
      {loops.data && loops.data.length > 0 && rows.length === 0 ? <Empty icon={<Search />} title={t("loops.none_match")} /> : null}
      <div ref={scroller} className="min-h-0 grow overflow-auto px-2 pb-4 sm:px-4">
        {rows.length > 0 ? <LoopRowHead /> : null}
        <div role="list" aria-label={t("nav.loops")} className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = shown[item.index] as Shown;
            return (
              <div key={item.key} role="listitem" ref={virtual.measureElement} data-index={item.index} className="absolute inset-x-0 top-0" style={{ transform: `translateY(${item.start}px)` }}>
                {row.type === "group" ? (
                  <h2 className={clsx("flex items-baseline gap-2 px-1 pt-3 pb-1 text-xs font-semibold", row.name === "person" ? "text-ask" : "text-soft")}>
                    {t(`loops.group_${row.name}`)} <span className="figures font-normal">{row.count}</span>
                  </h2>
                ) : (
                  <LoopRow loop={row.loop} selected={row.loop.id === selected} onSelect={() => select(row.loop.id)} onAsk={(verb) => ask({ verb, loop: row.loop })} onPause={() => pause(row.loop)} />
                )}
              </div>
            );
          })}
        </div>
      </div>
      <ActionDialog asked={asked} onClose={() => ask(null)} />
    </div>
  );
}

function NoLoops() {
  const { t } = useTranslation();
  return (
    <Empty icon={<Wave />} title={t("loops.none")}>
      <p className="mb-4">{t("loops.none_hint")}</p>
      <Link to="/new" className="inline-flex min-h-9 items-center gap-1.5 rounded-md bg-accent px-4 text-sm font-medium text-accent-ink"><Plus /> {t("nav.new")}</Link>
    </Empty>
  );
}
