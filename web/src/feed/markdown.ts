// Markdown line by line: what an agent writes is shown as it comes, long before a paragraph or a list has its end.

export type Mark = "strong" | "emphasis" | "code" | "strike";

export interface Piece {
  text: string;
  mark?: Mark;
  /** An address on the web. */
  href?: string;
}

export interface Line {
  type: "heading" | "item" | "quote" | "rule" | "plain";
  /** In front of an item: its indentation and its number, if it has one. */
  lead: string;
  pieces: Piece[];
}

/** Most lines have nothing to mark; they cost one look. */
const MAYBE = /[`*_~#>[+-]|^\s*\d+[.)]\s/;
const INLINE = /(`+)([^`]+)\1|\*\*([^*\s](?:[^*]*[^*\s])?)\*\*|(?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?![\w*])|(?<!\w)_([^_\s](?:[^_]*[^_\s])?)_(?!\w)|~~([^~\s](?:[^~]*[^~\s])?)~~|\[([^\][]+)\]\((https?:\/\/[^\s()]+)\)/g;

function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > at) pieces.push({ text: text.slice(at, match.index) });
    at = match.index + match[0].length;
    const [, , code, strong, star, line, strike, words, href] = match;
    if (code !== undefined) pieces.push({ text: code, mark: "code" });
    else if (strong !== undefined) pieces.push({ text: strong, mark: "strong" });
    else if (strike !== undefined) pieces.push({ text: strike, mark: "strike" });
    else if (words !== undefined) pieces.push({ text: words, ...(href ? { href } : {}) });
    else pieces.push({ text: star ?? line ?? "", mark: "emphasis" });
  }
  if (at < text.length) pieces.push({ text: text.slice(at) });
  return pieces;
}

/** Nothing for a line without a mark. */
export function markdownLine(text: string): Line | null {
  if (!MAYBE.test(text)) return null;
  const heading = /^ {0,3}#{1,6}\s+(\S.*?)(?:\s+#+)?\s*$/.exec(text);
  if (heading) return { type: "heading", lead: "", pieces: piecesOf(heading[1] ?? "") };
  if (/^ {0,3}([-*_])(?:\s*\1){2,}\s*$/.test(text)) return { type: "rule", lead: "", pieces: [] };
  const item = /^(\s*)(?:[-*+]|(\d{1,4}[.)]))\s+(\S.*)$/.exec(text);
  if (item) return { type: "item", lead: `${item[1] ?? ""}${item[2] ?? "•"} `, pieces: piecesOf(item[3] ?? "") };
  const quote = /^ {0,3}>\s?(.*)$/.exec(text);
  if (quote) return { type: "quote", lead: "", pieces: piecesOf(quote[1] ?? "") };
  const pieces = piecesOf(text);
  return pieces.some((piece) => piece.mark || piece.href) ? { type: "plain", lead: "", pieces } : null;
}
