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

/** Paragraphs and fenced blocks, those of one kind together. */
export function promptParts(text: string, known: Known): PromptPart[] {
  const blocks: string[][] = [];
  let fence: string | null = null;
  let open = false;
  for (const line of text.split("\n")) {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (fence !== null) {
      blocks.at(-1)?.push(line);
      if (mark && mark.startsWith(fence)) fence = null;
      continue;
    }
    if (mark) fence = mark;
    if (line.trim() === "") open = false;
    else if (open) blocks.at(-1)?.push(line);
    else {
      blocks.push([line]);
      open = true;
    }
  }
  const parts: PromptPart[] = [];
  for (const lines of blocks) {
    const last = parts.at(-1);
    const kind = kindOf(lines.join("\n"), known, last?.kind);
    if (last?.kind === kind) last.lines.push("", ...lines);
    else parts.push({ kind, lines: [...lines] });
  }
  return parts;
}
