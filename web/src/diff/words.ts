// Which words of two lines differ.

export interface Span {
  text: string;
  changed: boolean;
}

const WORD = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;
/** Longer lines are compared at their ends only: the table grows with the product of both. */
const LARGEST = 40_000;

function joined(tokens: readonly { text: string; changed: boolean }[]): Span[] {
  const spans: Span[] = [];
  for (const { text, changed } of tokens) {
    const last = spans.at(-1);
    if (last?.changed === changed) last.text += text;
    else spans.push({ text, changed });
  }
  return spans;
}

/** The longest common sequence of tokens, as which of each side belong to it. */
function common(before: readonly string[], after: readonly string[]): [boolean[], boolean[]] {
  const width = after.length + 1;
  const table = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number) => table[row * width + column] as number;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      table[row * width + column] = before[row] === after[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const left = before.map(() => false);
  const right = after.map(() => false);
  for (let row = 0, column = 0; row < before.length && column < after.length; ) {
    if (before[row] === after[column]) {
      left[row] = true;
      right[column] = true;
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return [left, right];
}

/** Both lines in spans, or nothing if they have too little in common for marks to help. */
export function wordMarks(before: string, after: string): [Span[], Span[]] | null {
  const left = before.match(WORD) ?? [];
  const right = after.match(WORD) ?? [];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < left.length - start && end < right.length - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  const middle = [left.slice(start, left.length - end), right.slice(start, right.length - end)] as const;
  const small = middle[0].length * middle[1].length <= LARGEST;
  const [inLeft, inRight] = small ? common(middle[0], middle[1]) : [middle[0].map(() => false), middle[1].map(() => false)];
  const kept = [...left.slice(0, start), ...middle[0].filter((_, index) => inLeft[index]), ...left.slice(left.length - end)].filter((token) => token.trim());
  const most = Math.max(left.filter((token) => token.trim()).length, right.filter((token) => token.trim()).length);
  if (kept.length * 3 < most) return null;
  const spans = (tokens: readonly string[], same: readonly boolean[]) => joined(tokens.map((text, index) => ({ text, changed: index >= start && index < tokens.length - end && !same[index - start] })));
  return [spans(left, inLeft), spans(right, inRight)];
}
