import { memo } from "react";
import { AnsiText } from "./AnsiText";
import { parseLine, type Style } from "./ansi";
import { markdownLine, type Line, type Piece } from "./markdown";

/** A line of an agent's words. One with colours of its own is output of a program, and shown as that. */
export const MarkdownLine = memo(function MarkdownLine({ text, style }: { text: string; style: Style }) {
  const { runs } = parseLine(text, style);
  const only = runs.length === 1 ? runs[0] : undefined;
  const line = only && Object.keys(only.style).length === 0 ? markdownLine(only.text) : null;
  return line ? <Shown line={line} /> : <AnsiText text={text} style={style} />;
});

function Shown({ line }: { line: Line }) {
  const inner = line.pieces.map((piece, index) => <Part key={index} piece={piece} />);
  switch (line.type) {
    case "heading":
      return <strong data-mark="heading" className="font-semibold text-accent">{inner}</strong>;
    case "rule":
      return <span data-mark="rule" className="my-2 block border-t border-line" />;
    case "item":
      return <span data-mark="item">{line.lead}{inner}</span>;
    case "quote":
      return <span data-mark="quote" className="block border-l-2 border-line-strong pl-2 text-soft">{inner}</span>;
    case "plain":
      return <>{inner}</>;
  }
}

function Part({ piece: { text, mark, href } }: { piece: Piece }) {
  if (href) return <a href={href} target="_blank" rel="noreferrer noopener" className="text-accent underline">{text}</a>;
  if (mark === "strong") return <strong className="font-semibold">{text}</strong>;
  if (mark === "emphasis") return <em>{text}</em>;
  if (mark === "code") return <code className="rounded-xs bg-sunken px-0.5">{text}</code>;
  if (mark === "strike") return <s>{text}</s>;
  return <>{text}</>;
}
