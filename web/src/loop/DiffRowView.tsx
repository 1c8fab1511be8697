import clsx from "clsx";
import { memo, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { clear } from "../lib/clear";
import type { DiffKind, DiffLine } from "../lib/diff";
import type { DiffRow } from "../lib/diffRows";
import { wordMarks, type Span } from "../lib/words";
import { Chevron, Right } from "../ui/icons";
import { Button } from "../ui/primitives";
import { Size } from "./DiffStat";
import { FileSign } from "./FileTree";

const LOOK: Record<DiffKind, string> = { hunk: "bg-accent-soft text-accent", add: "bg-add text-add-ink", remove: "bg-del text-del-ink", same: "text-ink", note: "text-faint" };
const SIGN: Record<DiffKind, string> = { hunk: " ", add: "+", remove: "−", same: " ", note: " " };
/** A minified file is one line; no browser lays out a megabyte in one. */
const LONGEST = 2_000;

interface Props {
  row: DiffRow;
  onFold: (path: string, shown: boolean) => void;
  onWhole: (path: string) => void;
}

export const DiffRowView = memo(function DiffRowView({ row, onFold, onWhole }: Props) {
  const { t } = useTranslation();
  switch (row.type) {
    case "file":
      return <FileHead row={row} onFold={onFold} />;
    case "note":
      return <p className="px-3 py-1.5 font-sans text-xs text-soft">{t(`diff.${row.note}`)}</p>;
    case "hunk":
      return <div className="bg-accent-soft px-3 py-0.5 text-accent">{row.text}</div>;
    case "more":
      return <div className="px-3 py-2 font-sans"><Button small onClick={() => onWhole(row.file.path)}>{t("diff.more", { count: row.hidden })}</Button></div>;
    case "line":
      return <Single line={row.line} other={row.other} />;
    case "pair":
      return <Pair before={row.before} after={row.after} />;
  }
});

function FileHead({ row, onFold }: { row: Extract<DiffRow, { type: "file" }>; onFold: Props["onFold"] }) {
  const { t } = useTranslation();
  const { file, open } = row;
  return (
    <button type="button" data-item data-file={file.path} aria-expanded={open} onClick={() => onFold(file.path, !open)} className="flex w-full flex-wrap items-center gap-2 border-y border-line bg-sunken px-2 py-1.5 text-left font-sans text-sm">
      <Chevron className={clsx("size-3.5 shrink-0", open && "rotate-90")} /><FileSign status={file.status} />
      <span className="min-w-0 font-mono text-xs break-all">{file.old_path ? <>{file.old_path} <Right className="inline size-3 align-[-1px]" label={t("diff.to")} /> </> : null}{file.path}</span>
      <span className="ml-auto text-xs"><Size added={file.added} removed={file.removed} /></span>
    </button>
  );
}

/** The words that differ from the line's other; whole lines that are too long are cut. */
function Text({ line, other }: { line: DiffLine; other: DiffLine | undefined }) {
  const long = line.text.length > LONGEST;
  const spans = useMemo((): Span[] | null => {
    if (!other || long || other.text.length > LONGEST || line.kind === "same") return null;
    const removed = line.kind === "remove";
    const marks = removed ? wordMarks(line.text, other.text) : wordMarks(other.text, line.text);
    return marks ? marks[removed ? 0 : 1] : null;
  }, [line, other, long]);
  if (!spans) return <>{clear(long ? `${line.text.slice(0, LONGEST)}…` : line.text) || " "}</>;
  return spans.map((span, index) => (span.changed ? <mark key={index} className={clsx("rounded-xs text-inherit", line.kind === "add" ? "bg-add-strong" : "bg-del-strong")}>{clear(span.text)}</mark> : <span key={index}>{clear(span.text)}</span>));
}

const NUMBER = "w-9 shrink-0 px-1 text-right text-[11px] leading-[1.7] opacity-80 select-none";

function Single({ line, other }: { line: DiffLine; other: DiffLine | undefined }) {
  return (
    <div className={clsx("flex", LOOK[line.kind])}>
      <span className={clsx(NUMBER, "max-sm:hidden")}>{line.before}</span>
      <span className={NUMBER}>{line.after}</span>
      <span className="w-4 shrink-0 text-center select-none">{SIGN[line.kind]}</span>
      <span className="min-w-0 grow pr-2"><Text line={line} other={other} /></span>
    </div>
  );
}

function Pair({ before, after }: { before: DiffLine | undefined; after: DiffLine | undefined }) {
  return (
    <div className="grid grid-cols-2 divide-x divide-line">
      <Half line={before} other={after} number={before?.before} />
      <Half line={after} other={before} number={after?.after} />
    </div>
  );
}

function Half({ line, other, number }: { line: DiffLine | undefined; other: DiffLine | undefined; number: number | undefined }) {
  if (!line) return <div className="bg-sunken" />;
  return (
    <div className={clsx("flex min-w-0", LOOK[line.kind])}>
      <span className={NUMBER}>{number}</span><span className="w-4 shrink-0 text-center select-none">{SIGN[line.kind]}</span>
      <span className="min-w-0 grow pr-2"><Text line={line} other={other} /></span>
    </div>
  );
}
