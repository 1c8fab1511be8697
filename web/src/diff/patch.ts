// Unified patches, read leniently: whatever cannot be read is shown as it stands.

export type DiffKind = "hunk" | "add" | "remove" | "same" | "note";

export interface DiffLine {
  kind: DiffKind;
  text: string;
  before?: number;
  after?: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

export function parsePatch(patch: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let before = 0;
  let after = 0;
  let inHunk = false;
  const all = patch.split("\n");
  if (all.at(-1) === "") all.pop();
  for (const text of all) {
    const hunk = HUNK.exec(text);
    if (hunk) {
      before = Number(hunk[1]);
      after = Number(hunk[3]);
      inHunk = true;
      lines.push({ kind: "hunk", text });
    } else if (text.startsWith("diff --git ")) {
      inHunk = false;
      lines.push({ kind: "note", text });
    } else if (!inHunk) {
      lines.push({ kind: "note", text });
    } else if (text.startsWith("+")) {
      lines.push({ kind: "add", text: text.slice(1), after });
      after += 1;
    } else if (text.startsWith("-")) {
      lines.push({ kind: "remove", text: text.slice(1), before });
      before += 1;
    } else if (text.startsWith("\\")) {
      lines.push({ kind: "note", text });
    } else {
      lines.push({ kind: "same", text: text.startsWith(" ") ? text.slice(1) : text, before, after });
      before += 1;
      after += 1;
    }
  }
  return lines;
}

/** Whether a tool's text is a patch and deserves to be shown as one. */
export function looksLikePatch(text: string): boolean {
  return /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(text) && /^[+-]/m.test(text);
}
