// Coloured pieces of lines, and how they meet the marks of changed words.

import type { Span } from "./words";

export interface Token {
  text: string;
  /** What it is, as a highlighter's class name without its prefix; empty for plain text. */
  kind: string;
}

export interface Tree {
  type: string;
  value?: string;
  properties?: { className?: string[] };
  children?: Tree[];
}

/** The tree's text, line by line; the innermost kind wins. */
export function linesOfTree(tree: Tree): Token[][] {
  const lines: Token[][] = [[]];
  const walk = (node: Tree, kind: string) => {
    if (node.type === "text") {
      (node.value ?? "").split("\n").forEach((text, index) => {
        if (index > 0) lines.push([]);
        if (text) lines.at(-1)?.push({ text, kind });
      });
      return;
    }
    const own = node.properties?.className?.[0]?.replace(/^hljs-/, "") ?? "";
    for (const child of node.children ?? []) walk(child, KINDS[own] ?? kind);
  };
  walk(tree, "");
  return lines;
}

/** The few looks that the page has, by the highlighter's many names. */
const KINDS: Record<string, string> = {
  keyword: "keyword", literal: "keyword", built_in: "type", type: "type", "title": "name", section: "name", name: "name", selector_tag: "keyword", "selector-tag": "keyword", "selector-class": "name", "selector-id": "name",
  string: "string", regexp: "string", symbol: "string", char: "string", link: "string", addition: "string", number: "number", comment: "comment", quote: "comment", doctag: "comment",
  meta: "meta", attr: "attr", attribute: "attr", property: "attr", variable: "", params: "", bullet: "keyword", code: "string", tag: "", subst: "",
};

export interface Piece extends Token {
  changed: boolean;
}

/** Cuts a line at the ends of both its tokens and its marks. A line without colours is one token. */
export function woven(text: string, tokens: readonly Token[] | undefined, marks: readonly Span[] | null): Piece[] {
  // Colours of another text would put words into the line.
  const own = tokens && tokens.reduce((sum, token) => sum + token.text.length, 0) === text.length ? tokens : [{ text, kind: "" }];
  if (!marks) return own.map((token) => ({ ...token, changed: false }));
  const pieces: Piece[] = [];
  let mark = 0;
  let left = marks[0]?.text.length ?? text.length;
  for (const token of own) {
    let rest = token.text;
    while (rest) {
      while (left === 0 && mark < marks.length - 1) {
        mark += 1;
        left = marks[mark]?.text.length ?? 0;
      }
      const size = left > 0 ? Math.min(left, rest.length) : rest.length;
      pieces.push({ text: rest.slice(0, size), kind: token.kind, changed: marks[mark]?.changed ?? false });
      rest = rest.slice(size);
      left -= size;
    }
  }
  return pieces;
}
