// Lines of a diff by keyboard: arrows go from line to line and, in the split view, from side to side; Enter comments.

import { useEffect, useRef, type KeyboardEvent, type RefObject } from "react";
import type { Place, Side } from "./notes";
import type { DiffRow } from "./rows";

/** The sides of a row that have a line to comment on. */
export function sidesOf(row: DiffRow | undefined): Side[] {
  if (row?.type === "line") {
    const side: Side = row.line.kind === "remove" ? "before" : "after";
    return row.line[side] === undefined ? [] : [side];
  }
  if (row?.type !== "pair") return [];
  return (["before", "after"] as const).filter((side) => row[side]?.[side] !== undefined);
}

/** The next row in this direction that has such a line. */
export function nextLine(rows: readonly DiffRow[], from: number, step: 1 | -1): number {
  for (let index = from + step; index >= 0 && index < rows.length; index += step) if (sidesOf(rows[index]).length > 0) return index;
  return -1;
}

const buttonAt = (box: HTMLElement, index: number, side: Side) => box.querySelector<HTMLButtonElement>(`[data-index="${index}"] [data-line-side=${side}]`);

export function useLineCursor(rows: readonly DiffRow[], scroller: RefObject<HTMLDivElement | null>, show: (index: number) => void) {
  /** Gets the focus as soon as it is in the page. */
  const wanted = useRef<{ at: (rows: readonly DiffRow[]) => number; side: Side } | null>(null);
  useEffect(() => {
    const box = scroller.current;
    if (!wanted.current || !box) return;
    const button = buttonAt(box, wanted.current.at(rows), wanted.current.side);
    if (!button) return;
    wanted.current = null;
    button.focus({ preventScroll: true });
  });
  const goTo = (place: Place) => {
    wanted.current = { side: place.side, at: (now) => now.findIndex((row) => (row.type === "line" ? row.path === place.path && sidesOf(row)[0] === place.side && row.line[place.side] === place.to : row.type === "pair" && row.path === place.path && row[place.side]?.[place.side] === place.to)) };
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const box = scroller.current;
    const target = event.target as HTMLElement;
    if (!box || event.ctrlKey || event.metaKey || event.altKey || (target !== box && !target.dataset["lineSide"])) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key] as 1 | -1 | undefined;
    const at = Number(target.closest<HTMLElement>("[data-index]")?.dataset["index"] ?? firstInSight(box) - (step ?? 1));
    const side = (target.dataset["lineSide"] as Side | undefined) ?? "after";
    let index = at;
    let to: Side;
    if (step) {
      index = nextLine(rows, at, step);
      if (index < 0) return;
      const there = sidesOf(rows[index]);
      to = there.includes(side) ? side : (there[0] as Side);
    } else if (target !== box && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      to = event.key === "ArrowLeft" ? "before" : "after";
      if (!sidesOf(rows[at]).includes(to)) return;
    } else return;
    event.preventDefault();
    wanted.current = null;
    show(index);
    const button = buttonAt(box, index, to);
    if (button) button.focus({ preventScroll: true });
    else wanted.current = { at: () => index, side: to };
  };
  return { goTo, onKeyDown };
}

/** The first row that is not scrolled away. */
function firstInSight(box: HTMLElement): number {
  const { top } = box.getBoundingClientRect();
  const rows = [...box.querySelectorAll<HTMLElement>("[data-index]")].filter((row) => row.getBoundingClientRect().bottom > top + 1);
  return Math.min(...rows.map((row) => Number(row.dataset["index"])));
}
