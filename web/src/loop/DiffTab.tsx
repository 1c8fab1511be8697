import { useVirtualizer } from "@tanstack/react-virtual";
import clsx from "clsx";
import { useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { DiffView, LoopView } from "../api/types";
import { rowsOf, type DiffMode, type DiffRow } from "../lib/diffRows";
import { commit } from "../lib/format";
import { remember, remembered } from "../lib/storage";
import { Branch, Right } from "../ui/icons";
import { Button, Empty, Loading, Problem } from "../ui/primitives";
import { DiffRowView } from "./DiffRowView";
import { Size, totalOf, useDiff } from "./DiffStat";
import { FileTree } from "./FileTree";
import type { Show } from "./LoopPage";

export default function DiffTab({ loop, iteration, onShow }: { loop: LoopView; iteration: number | undefined; onShow: Show }) {
  const { t } = useTranslation();
  const diff = useDiff(loop, iteration);
  const [mode, setMode] = useState<DiffMode>(() => (remembered("diff") === "split" ? "split" : "unified"));
  const choose = (next: DiffMode) => {
    setMode(next);
    remember("diff", next === "split" ? "split" : null);
  };
  const total = diff.data ? totalOf(diff.data) : null;
  return (
    <div className="flex h-full min-h-80 flex-col">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-2 py-2 sm:px-4">
        <select aria-label={t("diff.which")} className="field w-auto" value={iteration ?? ""} onChange={(event) => onShow("diff", event.target.value ? { iteration: Number(event.target.value) } : {})}>
          <option value="">{t("diff.total")}</option>
          {loop.history.map(({ iteration: number }) => <option key={number} value={number}>{t("feed.iteration", { number })}</option>)}
        </select>
        {diff.data && total ? <span data-diff-total className="text-xs text-soft"><code>{commit(diff.data.from)}</code> <Right className="inline size-3 align-[-1px]" label={t("diff.to")} /> <code>{commit(diff.data.to)}</code> · {t("diff.files", { count: total.files })} · <Size added={total.added} removed={total.removed} /></span> : null}
        <div role="group" aria-label={t("diff.mode")} className="ml-auto flex">
          {(["unified", "split"] as const).map((name) => <Button key={name} small aria-pressed={mode === name} tone={mode === name ? "accent" : "plain"} onClick={() => choose(name)}>{t(`diff.${name}`)}</Button>)}
        </div>
      </div>
      {diff.isPending ? <Loading /> : null}
      {diff.error && !diff.data ? <Problem error={diff.error} onRetry={() => void diff.refetch()} /> : null}
      {diff.data?.files.length === 0 ? <Empty icon={<Branch />} title={t("diff.none")} /> : null}
      {diff.data && diff.data.files.length > 0 ? <Files key={`${iteration ?? "all"}`} diff={diff.data} mode={mode} /> : null}
    </div>
  );
}

/** The tree beside the lines. Only rows in sight are in the page. */
function Files({ diff, mode }: { diff: DiffView; mode: DiffMode }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [whole, setWhole] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => rowsOf(diff.files, mode, { open, whole }), [diff, mode, open, whole]);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (rows[index]?.type === "file" ? 40 : 20),
    getItemKey: (index) => `${mode} ${(rows[index] as DiffRow).key}`,
    overscan: 20,
  });
  const fold = (path: string, shown: boolean) => setOpen((now) => new Map(now).set(path, shown));
  const goTo = (path: string) => {
    fold(path, true);
    const at = rows.findIndex((row) => row.type === "file" && row.key === path);
    if (at >= 0) virtual.scrollToIndex(at, { align: "start" });
  };
  const all = (shown: boolean) => setOpen(new Map(diff.files.map((file) => [file.path, shown])));
  const items = virtual.getVirtualItems();
  const current = rows.slice(0, (items.find((item) => item.end > (virtual.scrollOffset ?? 0))?.index ?? 0) + 1).findLast((row) => row.type === "file")?.key;
  return (
    <div className="flex min-h-0 grow flex-col gap-2 px-2 pb-2 sm:px-4 lg:flex-row">
      <div className="flex min-h-0 shrink-0 flex-col gap-1 lg:w-64">
        <div className="flex gap-1.5"><Button small onClick={() => all(true)}>{t("diff.expand")}</Button><Button small onClick={() => all(false)}>{t("diff.fold")}</Button></div>
        <FileTree files={diff.files} current={current} onGo={goTo} />
        {diff.files_left_out > 0 ? <p className="text-xs text-wait">{t("diff.left_out", { count: diff.files_left_out })}</p> : null}
      </div>
      <div ref={scroller} role="region" aria-label={t("tab.diff")} tabIndex={0} data-diff={mode} className={clsx("card min-h-64 min-w-0 grow overflow-auto")}>
        <div className="output relative w-full" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => (
            <div key={item.key} ref={virtual.measureElement} data-index={item.index} className="absolute inset-x-0 top-0" style={{ transform: `translateY(${item.start}px)` }}>
              <DiffRowView row={rows[item.index] as DiffRow} onFold={fold} onWhole={(path) => setWhole((now) => new Set(now).add(path))} />
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
