import { Suspense, lazy } from "react";
import { plain } from "../feed/ansi";

const Markdown = lazy(() => import("./Markdown"));
/** More is shown as it is: nobody reads so much, and laying it out takes long. */
const LONGEST = 60_000;

/** A text in Markdown, shown as text until that can be read. */
export function AgentText({ text }: { text: string }) {
  const clear = text.split("\n").map(plain).join("\n").trim();
  const raw = <p className="break-words whitespace-pre-wrap">{clear.slice(0, LONGEST)}{clear.length > LONGEST ? "…" : ""}</p>;
  return clear.length > LONGEST ? raw : <Suspense fallback={raw}><Markdown text={clear} /></Suspense>;
}
