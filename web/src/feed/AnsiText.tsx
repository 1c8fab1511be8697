import clsx from "clsx";
import { memo } from "react";
import { parseLine, type Style } from "./ansi";

function look(style: Style): string | undefined {
  const name = clsx(
    typeof style.fg === "number" && !style.inverse && `fg-${style.fg}`,
    (style.inverse || style.bg !== undefined) && "ansi-box",
    style.bold && "ansi-bold", style.dim && "ansi-dim", style.italic && "ansi-italic", style.underline && "ansi-underline", style.strike && "ansi-strike",
  );
  return name || undefined;
}

/** One line of output. Its colours are the page's own, so that they can be read on either ground. */
export const AnsiText = memo(function AnsiText({ text, style, find }: { text: string; style?: Style; find?: string | undefined }) {
  const { runs } = parseLine(text, style);
  if (runs.length === 0) return <>{"\u200b"}</>;
  return (
    <>
      {runs.map((run, index) => {
        const name = look(run.style);
        const inner = find ? <Marked text={run.text} find={find} /> : run.text;
        return name ? <span key={index} className={name}>{inner}</span> : <span key={index}>{inner}</span>;
      })}
    </>
  );
});

export function Marked({ text, find }: { text: string; find: string }) {
  const lower = text.toLowerCase();
  const parts = [];
  let at = 0;
  for (let hit = lower.indexOf(find); hit >= 0 && parts.length < 200; hit = lower.indexOf(find, at)) {
    parts.push(text.slice(at, hit), <mark key={hit} className="bg-mark text-ink">{text.slice(hit, hit + find.length)}</mark>);
    at = hit + find.length;
  }
  return <>{parts}{text.slice(at)}</>;
}
