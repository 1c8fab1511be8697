import { useVirtualizer } from "@tanstack/react-virtual";
import clsx from "clsx";
import { useCallback, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Feed } from "../loop/useFeed";
import { Down, Up } from "../ui/icons";
import { Button, Empty } from "../ui/primitives";
import { PaneSearch } from "./PaneSearch";
import type { Row, Side } from "./rows";
import { RowView } from "./RowView";
import { slotOf } from "./window";

interface Props {
  feed: Feed;
  side: Side;
  title: ReactNode;
  active: boolean;
}

/** The height of a line that is not broken. */
const LINE = 19;
const NEAR = 48;
const NEAR_TOP = 600;
const UNASKED = 6;

export function FeedPane({ feed, side, title, active }: Props) {
  const { t } = useTranslation();
  const { window } = feed;
  useSyncExternalStore(window.subscribe, window.snapshot);
  const pane = window.panes[side];
  const rows = pane.rows;
  const scroller = useRef<HTMLDivElement>(null);
  const [find, setFind] = useState<string>();
  const [hit, setHit] = useState<string | null>(null);
  const anchor = useRef<{ slot: number; delta: number } | null>(null);

  // The same function until rows go or come in front: with a new one every row's place is worked out again.
  const begins = pane.first;
  const slot = useCallback((index: number) => slotOf(begins + index), [begins]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE,
    getItemKey: slot,
    overscan: 24,
  });

  // A page of older rows was put in front: stay with the row that was on top.
  const first = rows[0]?.key;
  const shownFirst = useRef(first);
  useLayoutEffect(() => {
    if (shownFirst.current !== first && anchor.current && !pane.following) {
      const { slot: kept, delta } = anchor.current;
      const index = rows.findIndex((_, at) => slot(at) === kept);
      const place = index >= 0 ? virtual.getOffsetForIndex(index, "start") : undefined;
      if (place && scroller.current) scroller.current.scrollTop = place[0] + delta;
    }
    shownFirst.current = first;
  }, [first, rows, pane, slot, virtual]);

  useEffect(() => {
    const index = hit === null ? -1 : pane.rows.findIndex((row) => row.key === hit);
    if (index >= 0) virtual.scrollToIndex(index, { align: "center" });
  }, [hit, pane, virtual]);

  const total = virtual.getTotalSize();
  const height = virtual.scrollRect?.height;
  // Only when there is something to follow: each time costs the browser a layout.
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box && pane.following) box.scrollTop = box.scrollHeight;
  }, [pane, pane.following, total, height]);
  // What does not fill the pane, or is scrolled to its top, asks for more by itself; a side that has long been silent
  // does not page through all that the other said: there is a button for that.
  const unasked = useRef(0);
  const start = pane.start;
  useEffect(() => {
    const box = scroller.current;
    if (!window.ready || !start || !box || unasked.current >= UNASKED) return;
    const isShort = total < box.clientHeight + 200 || (!pane.following && box.scrollTop < NEAR_TOP);
    if (isShort && feed.older(side)) unasked.current += 1;
  }, [window, window.version, pane, start, total, feed, side]);

  const onScroll = useCallback(() => {
    const box = scroller.current;
    if (!box) return;
    // By its place: after a jump the rows that are rendered are not yet those that are seen.
    const top = virtual.getVirtualItemForOffset(box.scrollTop);
    anchor.current = top ? { slot: Number(top.key), delta: box.scrollTop - top.start } : null;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
    if (!atEnd || pane.cut === 0) window.follow(side, atEnd);
    if (box.scrollTop < NEAR_TOP && pane.start) feed.older(side);
    if (box.scrollTop >= NEAR_TOP) unasked.current = 0;
  }, [virtual, window, pane, side, feed]);

  const older = () => {
    window.follow(side, false);
    feed.older(side);
  };
  const live = () => {
    if (pane.cut > 0) feed.toLive();
    else {
      window.follow(side, true);
      if (scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
    }
  };

  return (
    <section aria-label={t(`side.${side}`)} data-side={side} data-active={active} className={clsx("relative flex min-h-0 min-w-0 grow basis-0 flex-col overflow-hidden rounded-lg border bg-panel", active ? "border-run shadow-[0_0_0_1px_var(--run)]" : "border-line")}>
      <header className={clsx("flex min-h-9 shrink-0 flex-wrap items-center gap-x-2 border-b border-line px-3", active ? "bg-run-soft" : "bg-panel")}>
        <span className="min-w-0 grow truncate text-sm">{title}</span>
        <PaneSearch feed={feed} side={side} hit={hit} onHit={setHit} onWords={setFind} />
        <button type="button" data-follow={side} aria-pressed={pane.following} onClick={() => (pane.following ? window.follow(side, false) : live())} className={clsx("flex min-h-7 items-center gap-1 rounded px-1.5 text-xs", pane.following ? "text-run" : "text-soft")}>
          <Down className="size-3.5" />{t("feed.follow")}
        </button>
      </header>
      <div ref={scroller} onScroll={onScroll} tabIndex={0} role="log" aria-live="off" aria-label={t(`side.${side}`)} className="min-h-0 grow overflow-auto py-1 [overflow-anchor:none]">
        {start ? <div className="flex h-9 items-center justify-center"><Button small tone="quiet" onClick={older}><Up className="size-3.5" />{t("feed.older")}</Button></div> : null}
        {rows.length === 0 ? <Empty title={window.ready ? t("feed.nothing") : t("state.loading")} /> : null}
        <div className="relative" style={{ height: total }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index] as Row;
            return (
              <div key={item.key} ref={virtual.measureElement} data-index={item.index} data-hit={row.key === hit ? "" : undefined} className={clsx("absolute inset-x-0 top-0", row.key === hit && "bg-accent-soft")} style={{ transform: `translateY(${item.start}px)` }}>
                <RowView row={row} find={find} output={row.kind === "tool" ? row.output : row.kind === "event" ? undefined : row.text} />
              </div>
            );
          })}
        </div>
      </div>
      {!pane.following ? (
        <div className="pointer-events-none absolute inset-x-0 bottom-2 flex justify-center">
          <Button small tone="accent" className="pointer-events-auto shadow-pop" onClick={live}><Down className="size-3.5" />{pane.cut > 0 ? t("feed.to_live_cut", { count: pane.cut }) : t("feed.to_live")}</Button>
        </div>
      ) : null}
    </section>
  );
}
