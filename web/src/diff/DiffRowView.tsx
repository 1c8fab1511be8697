import clsx from "clsx";
import { useMemo, type MouseEvent } from "react";
import { useTranslation } from "react-i18next";
import { clear } from "../lib/clear";
import { Size } from "../loop/DiffStat";
import { Chevron, Right } from "../ui/icons";
import { Button } from "../ui/primitives";
import { FileSign } from "./FileTree";
import { NoteView } from "./NoteView";
import { covers, type Place, type Side } from "./notes";
import type { DiffKind, DiffLine } from "./patch";
import type { DiffRow } from "./rows";
import { woven, type Piece } from "./tokens";
import { tokensOf } from "./useColours";
import { wordMarks } from "./words";

const LOOK: Record<DiffKind, string> = { hunk: "bg-accent-soft text-accent", add: "bg-add text-add-ink", remove: "bg-del text-del-ink", same: "text-ink", note: "text-faint" };
const SIGN: Record<DiffKind, string> = { hunk: " ", add: "+", remove: "−", same: " ", note: " " };
/** A minified file is one line; no browser lays out a megabyte in one. */
const LONGEST = 2_000;

export interface RowActions {
  onFold: (path: string, shown: boolean) => void;
  onWhole: (path: string) => void;
  /** A line is to be commented on, or the comment's lines are to reach up to it. */
  onLine?: ((path: string, side: Side, line: number, shift: boolean) => void) | undefined;
  onCancel: () => void;
  onSave: (place: Place, text: string) => void;
  onRemove: (id: string) => void;
}

interface Props {
  row: DiffRow;
  editing: Place | null;
  /** Changes when more lines have colours. */
  colours: number;
  actions: RowActions;
}

export function DiffRowView({ row, editing, colours, actions }: Props) {
  const { t } = useTranslation();
  switch (row.type) {
    case "file":
      return <FileHead row={row} onFold={actions.onFold} />;
    case "note":
      return <p className="px-3 py-1.5 font-sans text-xs text-soft">{t(`diff.${row.note}`)}</p>;
    case "hunk":
      return <div className="bg-accent-soft px-3 py-0.5 text-accent">{row.text}</div>;
    case "more":
      return <div className="px-3 py-2 font-sans"><Button small onClick={() => actions.onWhole(row.file.path)}>{t("diff.more", { count: row.hidden })}</Button></div>;
    case "between":
      return <NoteView note={row.note} onCancel={actions.onCancel} onSave={actions.onSave} onRemove={actions.onRemove} />;
    case "line": {
      const side: Side = row.line.kind === "remove" ? "before" : "after";
      return <Single line={row.line} other={row.other} colours={colours} side={side} chosen={covers(editing, row.path, side, row.line[side])} onNumber={actions.onLine && ((shift) => actions.onLine?.(row.path, side, row.line[side] ?? 1, shift))} />;
    }
    case "pair":
      return (
        <div className="grid grid-cols-2 divide-x divide-line">
          {(["before", "after"] as const).map((side) => <Half key={side} line={row[side]} other={row[side === "before" ? "after" : "before"]} colours={colours} side={side} chosen={covers(editing, row.path, side, row[side]?.[side])} onNumber={actions.onLine && ((shift) => actions.onLine?.(row.path, side, row[side]?.[side] ?? 1, shift))} />)}
        </div>
      );
  }
}

function FileHead({ row, onFold }: { row: Extract<DiffRow, { type: "file" }>; onFold: RowActions["onFold"] }) {
  const { t } = useTranslation();
  const { file, open, generated } = row;
  return (
    <button type="button" data-item data-file={file.path} aria-expanded={open} onClick={() => onFold(file.path, !open)} className="flex w-full flex-wrap items-center gap-2 border-y border-line bg-sunken px-2 py-1.5 text-left font-sans text-sm">
      <Chevron className={clsx("size-3.5 shrink-0", open && "rotate-90")} /><FileSign status={file.status} />
      <span className="min-w-0 font-mono text-xs break-all">{file.old_path ? <>{file.old_path} <Right className="inline size-3 align-[-1px]" label={t("diff.to")} /> </> : null}{file.path}</span>
      {generated ? <span className="rounded-full bg-idle-soft px-2 text-xs text-idle">{t("diff.generated")}</span> : null}
      <span className="ml-auto text-xs"><Size added={file.added} removed={file.removed} /></span>
    </button>
  );
}

/** The words that differ from the line's other, in the colours of its language; a line that is too long is cut. */
function Text({ line, other, colours }: { line: DiffLine; other: DiffLine | undefined; colours: number }) {
  const long = line.text.length > LONGEST;
  const pieces = useMemo((): Piece[] | null => {
    if (long) return null;
    const compared = other && other.text.length <= LONGEST && line.kind !== "same";
    const removed = line.kind === "remove";
    const marks = compared ? (removed ? wordMarks(line.text, other.text) : wordMarks(other.text, line.text)) : null;
    return woven(line.text, tokensOf(line), marks ? marks[removed ? 0 : 1] : null);
    // Colours come after the lines; their number tells that they came.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [line, other, long, colours]);
  if (!pieces || pieces.length === 0) return <>{clear(long ? `${line.text.slice(0, LONGEST)}…` : line.text) || " "}</>;
  return pieces.map((piece, index) => {
    const look = piece.kind ? `code-${piece.kind}` : undefined;
    return piece.changed ? <mark key={index} className={clsx("rounded-xs text-inherit", line.kind === "add" ? "bg-add-strong" : "bg-del-strong")}>{look ? <span className={look}>{clear(piece.text)}</span> : clear(piece.text)}</mark> : <span key={index} className={look}>{clear(piece.text)}</span>;
  });
}

const NUMBER = "w-9 shrink-0 px-1 text-right text-[11px] leading-[1.7] select-none";

interface LineProps {
  line: DiffLine;
  other: DiffLine | undefined;
  colours: number;
  side: Side;
  chosen: boolean;
  onNumber: ((shift: boolean) => void) | undefined;
}

/** The number of a line is the button that comments on it. */
function NumberButton({ line, side, onNumber }: Pick<LineProps, "line" | "side" | "onNumber">) {
  const { t } = useTranslation();
  const number = line[side];
  if (number === undefined) return <span className={NUMBER} />;
  if (!onNumber) return <span className={clsx(NUMBER, "opacity-80")}>{number}</span>;
  return <button type="button" tabIndex={-1} data-comment-on={number} data-line-side={side} aria-label={t("comment.on_line", { number })} title={t("comment.on_line", { number })} onClick={(event: MouseEvent) => onNumber(event.shiftKey)} className={clsx(NUMBER, "cursor-pointer opacity-80 hover:bg-accent hover:text-accent-ink hover:opacity-100")}>{number}</button>;
}

function Single({ line, other, colours, side, chosen, onNumber }: LineProps) {
  return (
    <div className={clsx("flex", LOOK[line.kind], chosen && "line-chosen")}>
      {side === "before" ? <NumberButton line={line} side={side} onNumber={onNumber} /> : null}
      <span className={clsx(NUMBER, "opacity-80 max-sm:hidden")}>{side === "before" ? "" : line.before}</span>
      {side === "after" ? <NumberButton line={line} side={side} onNumber={onNumber} /> : null}
      <span className="w-4 shrink-0 text-center select-none">{SIGN[line.kind]}</span>
      <span className="min-w-0 grow pr-2"><Text line={line} other={other} colours={colours} /></span>
    </div>
  );
}

function Half({ line, other, colours, side, chosen, onNumber }: Omit<LineProps, "line"> & { line: DiffLine | undefined }) {
  if (!line) return <div className="bg-sunken" />;
  return (
    <div className={clsx("flex min-w-0", LOOK[line.kind], chosen && "line-chosen")}>
      <NumberButton line={line} side={side} onNumber={onNumber} /><span className="w-4 shrink-0 text-center select-none">{SIGN[line.kind]}</span>
      <span className="min-w-0 grow pr-2"><Text line={line} other={other} colours={colours} /></span>
    </div>
  );
}
