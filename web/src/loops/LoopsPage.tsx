import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import clsx from "clsx";
import { memo, useDeferredValue, useEffect, useImperativeHandle, useMemo, useRef, useState, type RefObject } from "react";
import { useTranslation } from "react-i18next";
import { isUnauthorised } from "../api/client";
import type { LoopSummary } from "../api/types";
import { baseName } from "../lib/format";
import { useKeys } from "../lib/keys";
import { setWaiting, useTitle } from "../lib/title";
import { Search } from "../ui/icons";
import { Empty, Loading, Problem } from "../ui/primitives";
import { canResume, isOpen } from "../ui/status";
import { Unauthorised } from "../app/Unauthorised";
import { ActionDialog, useAct, type Asked } from "./actions";
import { arrange, choicesOf, stateOf, type Shown, type View } from "./arrange";
import { BulkBar } from "./BulkBar";
import { LoopRow, LoopRowHead, type RowHandlers } from "./LoopRow";
import { NoLoops } from "./NoLoops";
import { TotalsBar } from "./TotalsBar";
import { useLoops } from "./useLoops";
import { ViewBar } from "./ViewBar";

export function LoopsPage() {
  const { t } = useTranslation();
  const loops = useLoops();
  const search = useSearch({ from: "/" });
  const navigate = useNavigate();
  const [asked, ask] = useState<Asked | null>(null);
  const [selected, select] = useState<string | null>(null);
  const act = useAct();
  const box = useRef<HTMLInputElement>(null);
  const list = useRef<ListHandle>(null);
  const words = useDeferredValue(search.q ?? "");
  const shown = useMemo(() => arrange(loops.data ?? [], { ...search, q: words }), [loops.data, words, search]);
  const choices = useMemo(() => choicesOf(loops.data ?? []), [loops.data]);
  const change = (part: View) =>
    void navigate({ to: "/", search: Object.fromEntries(Object.entries({ ...search, ...part }).filter(([, value]) => value)), replace: true });

  const rows = useMemo(() => shown.flatMap((row, index) => (row.type === "loop" ? [{ loop: row.loop, index }] : [])), [shown]);
  const at = rows.findIndex((row) => row.loop.id === selected);
  const current = rows[at]?.loop;
  const move = (by: number) => {
    const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    if (!next) return;
    select(next.loop.id);
    list.current?.scrollTo(next.index);
    requestAnimationFrame(() => document.getElementById(`loop-${next.loop.id}`)?.focus());
  };
  const [marks, setMarks] = useState<{ ids: ReadonlySet<string>; last: string | null }>({ ids: new Set(), last: null });
  const marked = useMemo(() => rows.filter((row) => marks.ids.has(row.loop.id)).map((row) => row.loop), [rows, marks]);
  const clearMarks = () => setMarks({ ids: new Set(), last: null });
  const mark = (id: string, range = false) =>
    setMarks(({ ids, last }) => {
      const next = new Set(ids);
      const ends = [last, id].map((each) => rows.findIndex((row) => row.loop.id === each)).sort((one, other) => one - other) as [number, number];
      if (range && ends[0] >= 0) for (const row of rows.slice(ends[0], ends[1] + 1)) next.add(row.loop.id);
      else if (!next.delete(id)) next.add(id);
      return { ids: next, last: id };
    });
  const markAll = (members: readonly LoopSummary[]) => setMarks(({ ids }) => ({ ids: new Set([...ids, ...members.map((loop) => loop.id)]), last: null }));
  const pause = (loop: LoopSummary) => (isOpen(loop.status) ? act.mutate({ loop, verb: "pause" }) : canResume(loop.status) ? ask({ verb: "resume", loop }) : undefined);
  const on = useHandlers({ select: (loop) => select(loop.id), mark: (loop, range) => mark(loop.id, range), markAll, ask: (loop, verb) => ask({ verb, loop }), pause });
  useKeys({
    "/": () => box.current?.focus(),
    j: () => move(1),
    k: () => move(-1),
    x: () => current && mark(current.id),
    X: () => markAll(rows.map((row) => row.loop)),
    Escape: clearMarks,
    s: () => current && isOpen(current.status) && ask({ verb: "stop", loop: current }),
    p: () => current && pause(current),
    m: () => current && ask({ verb: "steer", loop: current }),
    a: () => current && ask({ verb: "approve", loop: current }),
    r: () => current && ask({ verb: "reject", loop: current }),
  });
  const person = useMemo(() => (loops.data ?? []).filter((loop) => stateOf(loop) === "person").length, [loops.data]);
  useTitle(t("nav.loops"));
  // The list hears of changes before the count is asked for again.
  useEffect(() => {
    if (loops.data) setWaiting(person);
  }, [loops.data, person]);

  if (isUnauthorised(loops.error)) return <Unauthorised />;
  return (
    <div className="mx-auto flex h-full max-w-[110rem] flex-col">
      <h1 className="sr-only">{t("nav.loops")}</h1>
      <ViewBar view={search} choices={choices} count={rows.length} box={box} onChange={change} />
      {loops.data && loops.data.length > 0 ? <TotalsBar loops={loops.data} /> : null}
      {loops.isPending ? <Loading lines={8} /> : null}
      {loops.error && !loops.data ? <Problem error={loops.error} onRetry={() => void loops.refetch()} /> : null}
      {loops.data?.length === 0 ? <NoLoops /> : null}
      {loops.data && loops.data.length > 0 && rows.length === 0 ? <Empty icon={<Search />} title={t("loops.none_match")} /> : null}
      <List handle={list} shown={shown} selected={selected} marks={marks.ids} on={on} />
      {marked.length > 0 ? <BulkBar marked={marked} onClear={clearMarks} /> : null}
      <ActionDialog asked={asked} onClose={() => ask(null)} />
    </div>
  );
}

interface ListHandlers extends RowHandlers {
  markAll: (members: readonly LoopSummary[]) => void;
}

/** The newest of each function behind one that stays the same. */
function useHandlers(newest: ListHandlers): ListHandlers {
  const current = useRef(newest);
  useEffect(() => {
    current.current = newest;
  });
  return useMemo(() => ({
    select: (loop) => current.current.select(loop),
    mark: (loop, range) => current.current.mark(loop, range),
    markAll: (members) => current.current.markAll(members),
    ask: (loop, verb) => current.current.ask(loop, verb),
    pause: (loop) => current.current.pause(loop),
  }), []);
}

interface ListHandle {
  scrollTo: (index: number) => void;
}

interface ListProps {
  handle: RefObject<ListHandle | null>;
  shown: readonly Shown[];
  selected: string | null;
  marks: ReadonlySet<string>;
  on: ListHandlers;
}

/** What scrolls. It renders by itself: with the bars above it, each step of the wheel would cost several times as much. */
const List = memo(function List({ handle, shown, selected, marks, on }: ListProps) {
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (shown[index]?.type === "group" ? 36 : 68),
    getItemKey: (index) => (shown[index] as Shown).key,
    overscan: 8,
  });
  useImperativeHandle(handle, () => ({ scrollTo: (index) => virtual.scrollToIndex(index) }), [virtual]);
  return (
    <div ref={scroller} className="min-h-0 grow overflow-auto px-2 pb-4 sm:px-4">
      {shown.length > 0 ? <LoopRowHead /> : null}
      <div role="list" aria-label={t("nav.loops")} className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const row = shown[item.index] as Shown;
          return (
            <div key={item.key} role="listitem" ref={virtual.measureElement} data-index={item.index} className="absolute inset-x-0 top-0" style={{ transform: `translateY(${item.start}px)` }}>
              {row.type === "group" ? <GroupHead group={row} onMark={() => on.markAll(row.members)} /> : <LoopRow loop={row.loop} selected={row.loop.id === selected} marked={marks.has(row.loop.id)} on={on} />}
            </div>
          );
        })}
      </div>
    </div>
  );
});

function GroupHead({ group, onMark }: { group: Extract<Shown, { type: "group" }>; onMark: () => void }) {
  const { t } = useTranslation();
  const asks = group.by === "state" && group.name === "person";
  const tries = group.by === "tries" ? group.members[0]?.group : undefined;
  const name = group.by === "state" ? t(`loops.state_${group.name as "person"}`) : group.by === "project" ? baseName(group.name) : group.by === "tries" ? (tries?.name ?? t("tries.no_group")) : group.name;
  return (
    <div className="flex items-baseline justify-between gap-2 px-1 pt-3 pb-1 text-xs">
      <h2 title={group.by === "project" ? group.name : undefined} className={clsx("flex items-baseline gap-2 text-xs font-semibold", asks ? "text-ask" : "text-soft")}>
        {tries ? <Link to="/groups/$id" params={{ id: tries.id }} className="text-accent underline">{name}</Link> : name} <span className="figures font-normal">{group.count}</span>{" "}
        {!asks && group.person > 0 ? <span className="font-medium text-ask">{t("loops.need_you", { count: group.person })}</span> : null}
      </h2>
      <button type="button" onClick={onMark} aria-label={t("bulk.all_of", { name })} className="min-h-6 rounded px-1.5 text-faint hover:text-ink max-sm:hidden">{t("bulk.all")}</button>
    </div>
  );
}
