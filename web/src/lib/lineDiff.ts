// Which lines two texts share: what a prompt has that the one before did not.

export type Same = { type: "same" | "add" | "remove"; text: string };

/** The table grows with the product of both; beyond this what lies between the common ends is all changed. */
const LARGEST = 4_000_000;

export function lineDiff(before: string, after: string): Same[] {
  const left = before.split("\n");
  const right = after.split("\n");
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < left.length - start && end < right.length - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  const same = (text: string): Same => ({ type: "same", text });
  return [...left.slice(0, start).map(same), ...between(left.slice(start, left.length - end), right.slice(start, right.length - end)), ...left.slice(left.length - end).map(same)];
}

function between(left: readonly string[], right: readonly string[]): Same[] {
  const out: Same[] = [];
  const remove = (text: string) => out.push({ type: "remove", text });
  const add = (text: string) => out.push({ type: "add", text });
  if (left.length * right.length > LARGEST) {
    left.forEach(remove);
    right.forEach(add);
    return out;
  }
  const width = right.length + 1;
  const table = new Uint32Array((left.length + 1) * width);
  const at = (row: number, column: number) => table[row * width + column] as number;
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) table[row * width + column] = left[row] === right[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
  }
  let row = 0;
  let column = 0;
  while (row < left.length || column < right.length) {
    if (row < left.length && column < right.length && left[row] === right[column]) {
      out.push({ type: "same", text: left[row] as string });
      row += 1;
      column += 1;
    } else if (row < left.length && (column >= right.length || at(row + 1, column) >= at(row, column + 1))) {
      remove(left[row] as string);
      row += 1;
    } else {
      add(right[column] as string);
      column += 1;
    }
  }
  return out;
}

export type Run = { type: "lines"; lines: readonly Same[] } | { type: "skipped"; count: number };

/** What changed with so many lines around it; the rest is a number. */
export function shortened(lines: readonly Same[], around = 3): Run[] {
  const keep = lines.map(() => false);
  lines.forEach((line, index) => {
    if (line.type !== "same") for (let near = Math.max(0, index - around); near <= Math.min(lines.length - 1, index + around); near += 1) keep[near] = true;
  });
  const runs: Run[] = [];
  for (let index = 0; index < lines.length; ) {
    let end = index;
    while (end < lines.length && keep[end] === keep[index]) end += 1;
    runs.push(keep[index] ? { type: "lines", lines: lines.slice(index, end) } : { type: "skipped", count: end - index });
    index = end;
  }
  return runs;
}

/** A line with its number in its own text, counted from 0. */
export interface Placed {
  text: string;
  at: number;
}

export interface Pair {
  before?: Placed;
  after?: Placed;
}

export type Beside = { type: "pairs"; pairs: readonly Pair[] } | { type: "skipped"; count: number };

/** The same below each other: of lines that replace others, first all that went, then all that came. */
export function below(pairs: readonly Pair[]): { side: "before" | "after" | "both"; line: Placed }[] {
  const rows: { side: "before" | "after" | "both"; line: Placed }[] = [];
  let added: Placed[] = [];
  const flush = () => {
    for (const line of added) rows.push({ side: "after", line });
    added = [];
  };
  for (const { before, after } of pairs) {
    if (before && after && before.text === after.text) {
      flush();
      rows.push({ side: "both", line: after });
      continue;
    }
    if (before) rows.push({ side: "before", line: before });
    if (after) added.push(after);
  }
  flush();
  return rows;
}

/** Both texts beside each other: lines that replace each other in one row. */
export function besides(runs: readonly Run[]): Beside[] {
  let left = 0;
  let right = 0;
  return runs.map((run): Beside => {
    if (run.type === "skipped") {
      left += run.count;
      right += run.count;
      return run;
    }
    const pairs: Pair[] = [];
    let removed: Placed[] = [];
    let added: Placed[] = [];
    const flush = () => {
      for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
        const [before, after] = [removed[index], added[index]];
        pairs.push({ ...(before ? { before } : {}), ...(after ? { after } : {}) });
      }
      removed = [];
      added = [];
    };
    for (const { type, text } of run.lines) {
      if (type === "remove") removed.push({ text, at: left++ });
      else if (type === "add") added.push({ text, at: right++ });
      else {
        flush();
        pairs.push({ before: { text, at: left++ }, after: { text, at: right++ } });
      }
    }
    flush();
    return { type: "pairs", pairs };
  });
}
