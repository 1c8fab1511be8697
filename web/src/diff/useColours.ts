import { useEffect, useState } from "react";
import type { FileDiff } from "../api/types";
import type { DiffLine } from "./patch";
import { languageOf } from "./languages";
import { linesOf } from "./rows";
import type { Token } from "./tokens";

/** A side of more lines stays plain: colours are a help, not a reason to wait. */
export const COLOURED_LINES = 3_000;

type Answer = (lines: Token[][] | null) => void;
let worker: Worker | undefined;
let last = 0;
const asked = new Map<number, Answer>();

function colour(language: string, text: string, answer: Answer) {
  if (!worker) {
    worker = new Worker(new URL("./colours.worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<{ id: number; lines: Token[][] | null }>) => {
      asked.get(data.id)?.(data.lines);
      asked.delete(data.id);
    };
  }
  last += 1;
  asked.set(last, answer);
  worker.postMessage({ id: last, language, text });
}

const coloured = new WeakMap<DiffLine, readonly Token[]>();
const begun = new WeakSet<FileDiff>();
export const tokensOf = (line: DiffLine) => coloured.get(line);

/** Has the files that are in sight coloured, each once. What it gives back changes whenever more is there. */
export function useColours(files: readonly FileDiff[]): number {
  const [round, setRound] = useState(0);
  useEffect(() => {
    for (const file of files) {
      const language = languageOf(file.path);
      if (!language || begun.has(file) || file.binary) continue;
      begun.add(file);
      const lines = linesOf(file);
      for (const kind of ["remove", "add"] as const) {
        const side = lines.filter((line) => line.kind === kind || line.kind === "same");
        if (side.length === 0 || side.length > COLOURED_LINES || !side.some((line) => line.kind === kind)) continue;
        colour(language, side.map((line) => line.text).join("\n"), (found) => {
          if (found?.length !== side.length) return;
          side.forEach((line, index) => coloured.set(line, found[index] ?? []));
          setRound((now) => now + 1);
        });
      }
    }
  }, [files]);
  return round;
}
