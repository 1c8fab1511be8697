// Sentences with places for values: which one a text is, and a text from one.

export interface Coded {
  id: string;
  params: Record<string, string>;
}

interface Sentence {
  id: string;
  pattern: RegExp;
  names: string[];
  /** The more of it is fixed, the surer it is the one. */
  fixed: number;
}

const PLACE = /\{(\w+)\}/g;

function sentence(id: string, text: string): Sentence {
  const names: string[] = [];
  const fixed = text.replace(PLACE, "").length;
  const pattern = text.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(PLACE, (_, name: string) => {
    names.push(name);
    return "(.+?)";
  });
  return { id, pattern: new RegExp(`^${pattern}$`, "s"), names, fixed };
}

/** Finds the sentence that a text is. One that is nearly all places would fit anything. */
export function reader(sentences: Record<string, string>): (text: string) => Coded | undefined {
  const all = Object.entries(sentences).map(([id, text]) => sentence(id, text)).sort((one, other) => other.fixed - one.fixed);
  return (text) => {
    for (const { id, pattern, names } of all) {
      const found = pattern.exec(text);
      if (found) return { id, params: Object.fromEntries(names.map((name, index) => [name, found[index + 1] ?? ""])) };
    }
    return undefined;
  };
}

/** The words with the values in their places; a value may be a sentence itself. */
export function placed(words: string, params: Record<string, string>, inner: (text: string) => string): string {
  return words.replace(PLACE, (whole, name: string) => (params[name] === undefined ? whole : INNER.has(name) ? inner(params[name]) : params[name]));
}

/** Only these may be sentences: a name that happens to look like one stays a name. */
const INNER = new Set(["problem", "reason", "expected", "why", "guarantee", "limits", "holder"]);

/** The parts of a list in one line; a comma in brackets is part of its part. */
export const partsOf = (text: string): string[] => text.split(/, (?![^()]*\))/);
