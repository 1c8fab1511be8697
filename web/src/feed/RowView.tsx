import clsx from "clsx";
import { memo, useState } from "react";
import { useTranslation } from "react-i18next";
import { looksLikePatch } from "../diff/patch";
import { bytes } from "../lib/format";
import { DiffLines } from "../ui/DiffLines";
import { Chevron, Cross, Tool } from "../ui/icons";
import { plain } from "./ansi";
import { AnsiText, Marked } from "./AnsiText";
import { EventLine } from "./EventLine";
import { MarkdownLine } from "./MarkdownLine";
import { ReviewBlock } from "./ReviewBlock";
import type { Row, ToolRow } from "./rows";

export const RowView = memo(function RowView({ row, find, output }: { row: Row; find: string | undefined; output: string | undefined }) {
  switch (row.kind) {
    case "text":
      return <div className={clsx("output px-3", row.code && "bg-sunken")}>{find || row.code ? <AnsiText text={row.text} style={row.style} find={find} /> : <MarkdownLine text={row.text} style={row.style} />}</div>;
    case "thinking":
      return <div className="output border-l-2 border-line px-3 text-soft italic"><AnsiText text={row.text} style={row.style} find={find} /></div>;
    case "stderr":
      return <div className="output border-l-2 border-wait px-3 text-soft"><AnsiText text={row.text} style={row.style} find={find} /></div>;
    case "raw":
      return <div className="output px-3 text-faint"><AnsiText text={row.text} style={row.style} find={find} /></div>;
    case "review":
      return <ReviewBlock text={row.text} find={find} />;
    case "tool":
      return <ToolCall row={row} find={find} output={output} />;
    case "event":
      return <EventLine item={row.item} />;
  }
});

const FOLDED = 40_000;
const FIRST_LINE = 300;

/** Folded: what was called and how it went in one line; opened: all of it, a patch as a patch. */
function ToolCall({ row, find, output }: { row: ToolRow; find: string | undefined; output: string | undefined }) {
  const { t } = useTranslation();
  const hit = find !== undefined && `${row.input} ${output ?? ""}`.toLowerCase().includes(find);
  const [opened, setOpened] = useState<boolean | null>(null);
  // A short patch says more than the name of the tool that made it.
  const isOpen = opened ?? (hit || isShortPatch(row.input));
  const firstLine = plain(row.input.slice(0, FIRST_LINE).split("\n", 1)[0] ?? "");
  return (
    <div className="px-3 py-px">
      <button type="button" aria-expanded={isOpen} onClick={() => setOpened(!isOpen)} className="flex min-h-6 w-full items-center gap-1.5 rounded px-1 py-0.5 text-left font-mono text-xs text-soft hover:bg-sunken">
        <Chevron className={clsx("size-3 shrink-0 transition-transform", isOpen && "rotate-90")} />
        <Tool className="size-3.5 shrink-0 text-accent" />
        <span className="shrink-0 font-semibold text-ink">{row.name || t("feed.result")}</span>
        <span className="min-w-0 grow truncate">{firstLine}</span>
        {row.failed ? <span className="inline-flex shrink-0 items-center gap-1 font-semibold text-bad"><Cross className="size-3" />{t("feed.failed")}</span> : null}
        {output !== undefined && !row.failed ? <span className="shrink-0 text-faint">{bytes(output.length)}</span> : null}
        {output === undefined && row.name ? <span className="shrink-0 text-faint">…</span> : null}
      </button>
      {isOpen ? (
        <div className="mt-0.5 mb-1 ml-4 overflow-hidden rounded border border-line bg-sunken">
          {row.input ? <Block text={row.input} find={find} /> : null}
          {output ? <div className={clsx(row.input && "border-t border-line")}><Block text={output} find={find} /></div> : null}
        </div>
      ) : null}
    </div>
  );
}

const SHORT_PATCH = 24;
function isShortPatch(text: string): boolean {
  return text.length < 4_000 && text.split("\n").length <= SHORT_PATCH && looksLikePatch(text);
}

function Block({ text, find }: { text: string; find: string | undefined }) {
  if (looksLikePatch(text)) return <DiffLines patch={text} />;
  const shown = text.length > FOLDED ? text.slice(0, FOLDED) : text;
  const clear = shown.split("\n").map(plain).join("\n");
  return (
    <pre className="output max-h-96 overflow-auto px-2 py-1.5" tabIndex={0}>
      {find ? <Marked text={clear} find={find} /> : clear}
      {text.length > FOLDED ? `\n… ${bytes(text.length - FOLDED)}` : null}
    </pre>
  );
}
