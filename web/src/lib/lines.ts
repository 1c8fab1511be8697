// A page of a file by offset, as lines: where it is cut in the middle of one, the rest belongs to the neighbour.

export interface LinePage {
  /** Of the first byte that is shown, and after the last. */
  start: number;
  end: number;
  lines: string[];
}

const NEWLINE = 10;
const LONGEST = 2_000;

export function linesOf(bytes: Uint8Array, offset: number, total: number): LinePage {
  let from = 0;
  let to = bytes.length;
  if (offset > 0) {
    const first = bytes.indexOf(NEWLINE);
    // One endless line has no better place to begin.
    if (first >= 0 && first < bytes.length - 1) from = first + 1;
  }
  if (offset + bytes.length < total) {
    const last = bytes.lastIndexOf(NEWLINE);
    if (last > from) to = last + 1;
  }
  const text = new TextDecoder("utf-8").decode(bytes.subarray(from, to));
  const lines: string[] = [];
  const all = text.split("\n");
  if (all.at(-1) === "") all.pop();
  for (const line of all) {
    if (line.length <= LONGEST) lines.push(line);
    else for (let at = 0; at < line.length; at += LONGEST) lines.push(line.slice(at, at + LONGEST));
  }
  return { start: offset + from, end: offset + to, lines };
}
