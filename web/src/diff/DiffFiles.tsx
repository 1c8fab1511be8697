import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { DiffView, FileDiff } from "../api/types";
import { Button } from "../ui/primitives";
import { DiffRowView, type RowActions } from "./DiffRowView";
import { FileTree } from "./FileTree";
import { extended, notesOf, type Comment, type Finding, type Place, type Side } from "./notes";
import { linesOf, rowsOf, type DiffMode, type DiffRow } from "./rows";
import { useColours } from "./useColours";
import { useLineCursor } from "./useLineCursor";

interface Props {
  diff: DiffView;
  mode: DiffMode;
  findings: readonly Finding[];
  comments: readonly Comment[];
  /** Nobody comments if there is none. */
  onComments?: (next: readonly Comment[]) => void;
}

/** The tree beside the lines. Only rows in sight are in the page. */
export function DiffFiles({ diff, mode, findings, comments, onComments }: Props) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [whole, setWhole] = useState<ReadonlySet<string>>(new Set());
  const [editing, edit] = useState<Place | null>(null);
  const notes = useMemo(() => notesOf(findings, comments, editing), [findings, comments, editing]);
  const rows = useMemo(() => rowsOf(diff.files, mode, { open, whole }, notes), [diff, mode, open, whole, notes]);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => ({ file: 40, between: 90 } as Record<string, number>)[rows[index]?.type ?? ""] ?? 20,
    getItemKey: (index) => `${mode} ${(rows[index] as DiffRow).key}`,
    overscan: 20,
  });
  const items = virtual.getVirtualItems();
  const seen = useSeen(items.map((item) => rows[item.index] as DiffRow), diff.files);
  const colours = useColours(seen);
  const fold = useCallback((path: string, shown: boolean) => setOpen((now) => new Map(now).set(path, shown)), []);
  const cursor = useLineCursor(rows, scroller, (index) => virtual.scrollToIndex(index, { align: "auto" }));
  const actions: RowActions = {
    onFold: fold,
    onWhole: (path) => setWhole((now) => new Set(now).add(path)),
    onLine: onComments && ((path, side, line, shift) => edit((now) => (shift || now ? extended(now, path, side, line) : { path, side, from: line, to: line }))),
    onCancel: () => {
      if (editing) cursor.goTo(editing);
      edit(null);
    },
    onSave: (place, text) => {
      onComments?.([...comments, { ...place, id: `${Date.now()}`, quote: quoteOf(diff.files, place), text }]);
      cursor.goTo(place);
      edit(null);
    },
    onRemove: (id) => onComments?.(comments.filter((comment) => comment.id !== id)),
  };
  const goTo = (path: string) => {
    fold(path, true);
    const at = rows.findIndex((row) => row.type === "file" && row.key === path);
    if (at >= 0) virtual.scrollToIndex(at, { align: "start" });
  };
  const all = (shown: boolean) => setOpen(new Map(diff.files.map((file) => [file.path, shown])));
  const current = rows.slice(0, (items.find((item) => item.end > (virtual.scrollOffset ?? 0))?.index ?? 0) + 1).findLast((row) => row.type === "file")?.key;
  return (
    <div className="flex min-h-0 grow flex-col gap-2 px-2 pb-2 sm:px-4 lg:flex-row">
      <div className="flex min-h-0 shrink-0 flex-wrap items-center gap-1.5 lg:w-64 lg:flex-col lg:flex-nowrap lg:items-stretch lg:gap-1">
        <div className="flex items-center gap-1.5"><Button small onClick={() => all(true)}>{t("diff.expand")}</Button><Button small onClick={() => all(false)}>{t("diff.fold")}</Button></div>
        <FileTree files={diff.files} notes={notes} current={current} onGo={goTo} />
        {diff.files_left_out > 0 ? <p className="text-xs text-wait">{t("diff.left_out", { count: diff.files_left_out })}</p> : null}
        {onComments ? <p className="text-xs text-faint max-lg:hidden">{t("comment.hint")}</p> : null}
      </div>
      <div ref={scroller} role="region" aria-label={t("tab.diff")} tabIndex={0} data-diff={mode} onKeyDown={onComments ? cursor.onKeyDown : undefined} className="card min-h-64 min-w-0 grow overflow-auto">
        <div className="output relative w-full" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => (
            <div key={item.key} ref={virtual.measureElement} data-index={item.index} className="absolute inset-x-0 top-0" style={{ transform: `translateY(${item.start}px)` }}>
              <DiffRowView row={rows[item.index] as DiffRow} editing={editing} colours={colours} actions={actions} />
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

/** The files of which a line is in sight. The list stays the same one while they do. */
function useSeen(rows: readonly DiffRow[], files: readonly FileDiff[]): readonly FileDiff[] {
  const paths = [...new Set(rows.flatMap((row) => (row.type === "line" || row.type === "pair" ? [row.path] : [])))].join("\n");
  return useMemo(() => {
    const wanted = new Set(paths.split("\n"));
    return files.filter((file) => wanted.has(file.path));
  }, [paths, files]);
}

function quoteOf(files: readonly FileDiff[], { path, side, from, to }: Place): string[] {
  const file = files.find((each) => each.path === path);
  if (!file) return [];
  const kinds: Record<Side, string> = { before: "remove", after: "add" };
  return linesOf(file).filter((line) => (line.kind === "same" || line.kind === kinds[side]) && (line[side] ?? 0) >= from && (line[side] ?? 0) <= to).map((line) => line.text);
}
