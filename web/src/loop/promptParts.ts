// The parts of a prompt: who reads one sees at once what is the goal, what Windlass reports, what a person wrote.

export type PartKind = "goal" | "gates" | "findings" | "message" | "plan" | "promise" | "words";

export interface PromptPart {
  kind: PartKind;
  lines: string[];
}

/** What is known of the loop, to find its own words in the prompt. */
export interface Known {
  goal: string;
  promise: string | null;
  messages: readonly string[];
}

const GATES = /^(\$ |\(exit code |\(timed out|You claimed that|\d+ of \d+ gates? )|\bgates? (failed|fails|pass)\b/;
const FINDINGS = /\bfindings?\b|^(\d+\. |- )?\[?(bug|warning)\b/i;
const PLAN = /^#{1,3} (plan|section|phase)\b|^<plan>/i;

function kindOf(block: string, known: Known, before: PartKind | undefined): PartKind {
  if (known.goal.trim() && known.goal.includes(block.trim())) return "goal";
  if (known.promise && block.includes(known.promise)) return "promise";
  if (known.messages.some((message) => message.trim() && (block.includes(message.trim()) || message.includes(block.trim())))) return "message";
  if (PLAN.test(block)) return "plan";
  if (block.split("\n").some((line) => GATES.test(line))) return "gates";
  // The output of a gate follows its command.
  if (before === "gates" && block.startsWith("```")) return "gates";
  return FINDINGS.test(block) ? "findings" : "words";
}

/** A paragraph or a fenced block; what follows a fence before the next blank line belongs to it. */
interface Block {
  /** Its first line, counted from 0. */
  from: number;
  lines: string[];
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let fence: string | null = null;
  let open = false;
  text.split("\n").forEach((line, at) => {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (fence !== null) {
      blocks.at(-1)?.lines.push(line);
      if (mark && mark.startsWith(fence)) fence = null;
      return;
    }
    if (mark) fence = mark;
    if (line.trim() === "") open = false;
    else if (open) blocks.at(-1)?.lines.push(line);
    else {
      blocks.push({ from: at, lines: [line] });
      open = true;
    }
  });
  return blocks;
}

/** Paragraphs and fenced blocks, those of one kind together. */
export function promptParts(text: string, known: Known): PromptPart[] {
  const parts: PromptPart[] = [];
  for (const { lines } of blocksOf(text)) {
    const last = parts.at(-1);
    const kind = kindOf(lines.join("\n"), known, last?.kind);
    if (last?.kind === kind) last.lines.push("", ...lines);
    else parts.push({ kind, lines: [...lines] });
  }
  return parts;
}

/** The part that each line belongs to; a blank line belongs to what is above it. */
export function lineKinds(text: string, known: Known): PartKind[] {
  const kinds: PartKind[] = [];
  let last: PartKind | undefined;
  for (const { from, lines } of blocksOf(text)) {
    const kind = kindOf(lines.join("\n"), known, last);
    while (kinds.length < from) kinds.push(last ?? kind);
    kinds.push(...lines.map(() => kind));
    last = kind;
  }
  const count = text.split("\n").length;
  while (kinds.length < count) kinds.push(last ?? "words");
  return kinds;
}
