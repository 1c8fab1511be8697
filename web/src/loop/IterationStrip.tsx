import clsx from "clsx";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { duration, money, short } from "../lib/format";
import { Check, Cross, Dot, Equal, Flag, Ring, Undo, Warn } from "../ui/icons";
import type { Cell, Verdict } from "./story";

const LOOK: Record<Verdict, { icon: typeof Check; look: string }> = {
  accepted: { icon: Check, look: "border-good bg-good-soft text-good" },
  refused: { icon: Cross, look: "border-bad bg-bad-soft text-bad" },
  failing: { icon: Warn, look: "border-wait bg-wait-soft text-wait" },
  undone: { icon: Undo, look: "border-dashed border-line-strong bg-sunken text-idle" },
  unchanged: { icon: Equal, look: "border-line-strong bg-panel text-idle" },
  changed: { icon: Ring, look: "border-accent bg-panel text-accent" },
  running: { icon: Dot, look: "border-run bg-run-soft text-run" },
};
const GATE = { pass: { icon: Check, look: "text-good" }, fail: { icon: Cross, look: "text-bad" }, skipped: { icon: Ring, look: "text-idle" } } as const;

/** One cell for each iteration, the newest at the right end and in sight. */
export function IterationStrip({ cells, chosen, onChoose, label, disabled }: { cells: readonly Cell[]; chosen: number | undefined; onChoose: (iteration: number) => void; label: string; disabled?: (cell: Cell) => boolean }) {
  const bar = useRef<HTMLDivElement>(null);
  const newest = cells.at(-1)?.iteration;
  useEffect(() => {
    const box = bar.current;
    if (box) box.scrollLeft = box.scrollWidth;
  }, [newest]);
  return (
    <div ref={bar} role="group" aria-label={label} tabIndex={0} data-strip className="flex gap-1.5 overflow-x-auto p-1">
      {cells.map((cell) => <CellButton key={cell.iteration} cell={cell} chosen={cell.iteration === chosen} disabled={disabled?.(cell) ?? false} onChoose={() => onChoose(cell.iteration)} />)}
    </div>
  );
}

function CellButton({ cell, chosen, disabled, onChoose }: { cell: Cell; chosen: boolean; disabled: boolean; onChoose: () => void }) {
  const { t } = useTranslation();
  const { icon: Icon, look } = LOOK[cell.verdict];
  const passed = cell.gates.filter((gate) => gate === "pass").length;
  const words = [
    t("feed.iteration", { number: cell.iteration }), t(`strip.${cell.verdict}`), cell.files == null ? "" : t("diff.files", { count: cell.files }), cell.lines ? t("strip.lines", { added: cell.lines.added, removed: cell.lines.removed }) : "",
    cell.gates.length > 0 ? t("strip.gates", { passed, count: cell.gates.length }) : "", cell.claim ? t("timeline.claim") : "", cell.cost == null ? "" : money(cell.cost), cell.durationMs == null ? "" : duration(cell.durationMs),
  ].filter(Boolean).join(", ");
  return (
    <button type="button" data-cell={cell.verdict} aria-pressed={chosen} title={words} disabled={disabled} onClick={onChoose} className={clsx("figures relative flex w-19 shrink-0 flex-col gap-0.5 rounded-md border-2 px-1.5 py-1 text-left text-[11px] leading-4", look, chosen && "ring-2 ring-accent ring-offset-1 ring-offset-panel")}>
      <span className="sr-only">{words}</span>
      <span aria-hidden className="flex items-center justify-between text-xs font-semibold">{cell.iteration}<Icon className={clsx("size-3.5", cell.verdict === "running" && "breathe")} /></span>
      <span aria-hidden className="truncate text-ink">{cell.files == null ? "…" : cell.lines && cell.files > 0 ? <Lines lines={cell.lines} /> : t("strip.files", { count: cell.files })}</span>
      <span aria-hidden className="flex h-4 items-center gap-0.5 font-semibold">
        {cell.gates.slice(0, 4).map((gate, index) => <GateSign key={index} gate={gate} />)}
        {cell.claim ? <Flag className="ml-auto size-3 text-ask" /> : null}
      </span>
      <span aria-hidden className="text-soft">{cell.cost == null ? "–" : money(cell.cost)}</span>
    </button>
  );
}

/** Large ones are rounded: a cell is narrow. */
function Lines({ lines: { added, removed } }: { lines: NonNullable<Cell["lines"]> }) {
  return <span data-lines className="whitespace-nowrap"><span className="text-good">+{short(added)}</span> <span className="text-bad">−{short(removed)}</span></span>;
}

function GateSign({ gate }: { gate: Cell["gates"][number] }) {
  const { icon: Icon, look } = GATE[gate];
  return <Icon className={clsx("size-3", look)} />;
}
