// What the server says, in the page's language. The server writes English and gives a refusal's sentences a code with
// parameters; `schemas/messages.json` has the sentences by code, a file in `server/` their words in another language. English
// needs neither, so both are loaded only where they are used.

import { partsOf, placed, reader, type Coded } from "./sentences";

interface Book {
  settings: Record<string, string>;
  messages: Record<string, string>;
}

const books = import.meta.glob<{ default: Book }>("./server/*.json");
let book: Book | undefined;
let read: ((text: string) => Coded | undefined) | undefined;

/** Called with the language, before anything is shown in it. */
export async function loadServerWords(code: string) {
  const file = books[`./server/${code}.json`];
  if (!file) {
    book = undefined;
    return;
  }
  const [words, sentences] = await Promise.all([file(), import("../../../schemas/messages.json")]);
  read ??= reader(sentences.default);
  book = words.default;
}

/** A sentence of the server by its code; without a code, or without words for it, as the server wrote it. */
export function wordsOf(coded: Coded | null | undefined, text: string): string {
  const words = coded && book?.messages[coded.id];
  return words ? placed(words, coded.params, serverWords) : serverWords(text);
}

/** A sentence of the server that has no code. Several in one line, as limits are, are read one by one. */
export function serverWords(text: string): string {
  const now = book;
  if (!now || !read) return text;
  const inWords = ({ id, params }: Coded) => placed(now.messages[id] ?? text, params, serverWords);
  const parts = partsOf(text).map((part) => ({ part, coded: read?.(part) }));
  if (parts.length > 1 && parts.every(({ coded, part }) => coded || /^\$[\d.]+$/.test(part))) return parts.map(({ part, coded }) => (coded ? inWords(coded) : part)).join("、");
  const whole = read(text);
  return whole ? inWords(whole) : text;
}

/** What a setting is for. */
export function settingWords(key: string, description: string | undefined): string | undefined {
  return book?.settings[key] ?? description;
}
