// Terminal escapes become styled runs of text; whatever else an escape asks for (moving, clearing, titles, links,
// clipboard) is dropped. Nothing here makes markup: callers put `text` into text nodes.

import { ESCAPE, withoutInvisible } from "../lib/clear";

export interface Style {
  /** 0–15 of the palette, or a colour as #rrggbb. */
  fg?: number | string;
  bg?: number | string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  strike?: boolean;
  inverse?: boolean;
}

export interface Run {
  text: string;
  style: Style;
}

/** The style that goes on where a line ends, so that colours reach over lines. */
export interface Parsed {
  runs: Run[];
  style: Style;
}

export function parseLine(line: string, from: Style = {}): Parsed {
  if (!/[\u001b\u009b\r\b]/.test(line)) {
    const text = withoutInvisible(line);
    return { runs: text ? [{ text, style: from }] : [], style: from };
  }
  const runs: Run[] = [];
  let style = from;
  let at = 0;
  const text = afterReturns(line);
  const push = (piece: string) => {
    const shown = withoutInvisible(piece);
    if (!shown) return;
    const last = runs.at(-1);
    if (last && last.style === style) last.text += shown;
    else runs.push({ text: shown, style });
  };
  for (const match of text.matchAll(ESCAPE)) {
    push(text.slice(at, match.index));
    at = match.index + match[0].length;
    style = next(style, match[0]);
  }
  push(text.slice(at));
  return { runs, style };
}

/** The line without any escape, for searching and copying. */
export function plain(line: string): string {
  return withoutInvisible(afterReturns(line).replace(ESCAPE, ""));
}

/** A progress bar writes over its line with carriage returns: what stands there last is shown. */
function afterReturns(line: string): string {
  const trimmed = line.endsWith("\r") ? line.slice(0, -1) : line;
  const at = trimmed.lastIndexOf("\r");
  return at < 0 ? trimmed : trimmed.slice(at + 1);
}

function next(style: Style, escape: string): Style {
  const body = escape.startsWith("\u001b[") ? escape.slice(2) : escape.startsWith("\u009b") ? escape.slice(1) : undefined;
  if (body === undefined || !/^[\d;:]*m$/.test(body)) return style;
  const codes = body.slice(0, -1).split(/[;:]/, 64).map((word) => (word === "" ? 0 : Number(word)));
  const made: Style = { ...style };
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 0) for (const key of Object.keys(made) as (keyof Style)[]) delete made[key];
    else if (code === 1) made.bold = true;
    else if (code === 2) made.dim = true;
    else if (code === 3) made.italic = true;
    else if (code === 4) made.underline = true;
    else if (code === 7) made.inverse = true;
    else if (code === 9) made.strike = true;
    else if (code === 22) { delete made.bold; delete made.dim; }
    else if (code === 23) delete made.italic;
    else if (code === 24) delete made.underline;
    else if (code === 27) delete made.inverse;
    else if (code === 29) delete made.strike;
    else if (code >= 30 && code <= 37) made.fg = code - 30;
    else if (code >= 90 && code <= 97) made.fg = code - 82;
    else if (code >= 40 && code <= 47) made.bg = code - 40;
    else if (code >= 100 && code <= 107) made.bg = code - 92;
    else if (code === 39) delete made.fg;
    else if (code === 49) delete made.bg;
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(codes, index + 1);
      if (colour !== undefined) made[code === 38 ? "fg" : "bg"] = colour;
      index += used;
    }
  }
  return made;
}

/** `5;n` or `2;r;g;b`: the colour and how many codes it took. */
function extended(codes: number[], at: number): [number | string | undefined, number] {
  const byte = (index: number) => Math.min(255, Math.max(0, codes[index] ?? 0));
  if (codes[at] === 5) {
    const number = byte(at + 1);
    if (number < 16) return [number, 2];
    if (number >= 232) return [hex(8 + (number - 232) * 10, 8 + (number - 232) * 10, 8 + (number - 232) * 10), 2];
    const level = (part: number) => (part === 0 ? 0 : 55 + part * 40);
    const cube = number - 16;
    return [hex(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)), 2];
  }
  if (codes[at] === 2) return [hex(byte(at + 1), byte(at + 2), byte(at + 3)), 4];
  return [undefined, 0];
}

function hex(red: number, green: number, blue: number): string {
  return `#${[red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
