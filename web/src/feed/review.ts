// The block in which a reviewer hands in its work (crates/core/src/review/block.rs), read to be looked at. What the engine
// would not take is no review here either; its own word on the turn stands below in any case.

import type { FindingsView, SectionSummary } from "../api/types";
import { clearly } from "../lib/clear";

type Reported = Pick<FindingsView["findings"][number], "file" | "line" | "severity" | "description" | "scenario">;

export interface Review {
  verdict: "clean" | "dirty" | "accepted" | "rejected";
  reason: string | null;
  findings: Reported[];
  resolved: string[];
  summary: SectionSummary;
  adjustments: { section: number; body: string; rationale: string }[];
}

const OPENING = /^ {0,3}(`{3,}|~{3,})[ \t]*windlass-review(?=\s|$)[^`]*$/i;
const CLOSING = /^ {0,3}(`{3,}|~{3,})\s*$/;

export const isOpening = (line: string): boolean => OPENING.test(line);

/** Whether a line ends the block that this line opened. */
export function isClosing(line: string, opening: string): boolean {
  const mark = OPENING.exec(opening)?.[1];
  const end = CLOSING.exec(line)?.[1];
  return mark !== undefined && end !== undefined && end[0] === mark[0] && end.length >= mark.length;
}

/** What a block says, from its opening to its closing line; nothing if it is broken or not at its end yet. */
export function readReview(block: string): Review | undefined {
  const lines = block.split("\n");
  const opening = lines.shift() ?? "";
  if (!isClosing(lines.pop() ?? "", opening)) return undefined;
  try {
    return asReview(JSON.parse(lines.join("\n"), clearly));
  } catch {
    return undefined;
  }
}

type Fields = Record<string, unknown>;

/** An object with no other keys than these. */
function fields(value: unknown, known: readonly string[]): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TypeError("an object belongs here");
  if (!Object.keys(value).every((key) => known.includes(key))) throw new TypeError("a key is unknown");
  return value as Fields;
}

function text(value: unknown): string {
  if (typeof value !== "string") throw new TypeError("a text belongs here");
  return value;
}

function whole(value: unknown): number {
  if (!Number.isInteger(value)) throw new TypeError("a whole number belongs here");
  return value as number;
}

function oneOf<T extends string>(value: unknown, known: readonly T[]): T {
  const found = known.find((one) => one === value);
  if (found === undefined) throw new TypeError("a word is unknown");
  return found;
}

function list<T>(value: unknown, each: (item: unknown) => T): T[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new TypeError("a list belongs here");
  return value.map(each);
}

const maybe = <T>(value: unknown, read: (value: unknown) => T): T | null => (value === undefined || value === null ? null : read(value));
/** Reviewers like to write a single text without the list. */
const texts = (value: unknown): string[] => (typeof value === "string" ? [value] : list(value, text)).filter((one) => one.trim() !== "");

const AUDIT = ["verdict", "findings", "resolved", "section_summary", "plan_adjustments"];
const ACCEPTANCE = ["verdict", "reason"];
const KEYS: Record<Review["verdict"], readonly string[]> = { clean: AUDIT, dirty: AUDIT, accepted: ACCEPTANCE, rejected: ACCEPTANCE };

function asReview(value: unknown): Review {
  const verdict = verdictOf(value);
  const all = fields(value, KEYS[verdict]);
  const summary = fields(all["section_summary"] ?? {}, ["done", "deviations", "follow_ups"]);
  const review: Review = {
    verdict,
    reason: maybe(all["reason"], text),
    findings: list(all["findings"], asFinding),
    resolved: list(all["resolved"], text),
    summary: { done: texts(summary["done"]), deviations: texts(summary["deviations"]), follow_ups: texts(summary["follow_ups"]) },
    adjustments: list(all["plan_adjustments"], asAdjustment),
  };
  if (review.verdict === "clean" && review.findings.some((finding) => finding.severity === "bug")) throw new TypeError("clean with bugs");
  return review;
}

function verdictOf(value: unknown): Review["verdict"] {
  const verdict = (value as Fields | null)?.["verdict"];
  return oneOf(verdict === "ACCEPTED" || verdict === "REJECTED" ? verdict.toLowerCase() : verdict, ["clean", "dirty", "accepted", "rejected"]);
}

function asFinding(value: unknown): Reported {
  const all = fields(value, ["file", "line", "severity", "description", "scenario"]);
  return { file: text(all["file"]), line: maybe(all["line"], whole), severity: oneOf(all["severity"], ["bug", "warning"]), description: text(all["description"]), scenario: maybe(all["scenario"], text) };
}

function asAdjustment(value: unknown): Review["adjustments"][number] {
  const all = fields(value, ["section", "body", "rationale"]);
  return { section: whole(all["section"]), body: text(all["body"]), rationale: text(all["rationale"]) };
}
