// What the command palette offers. Whoever is on the page says what can be done there.

import { useEffect, useSyncExternalStore } from "react";

export interface Command {
  id: string;
  label: string;
  /** The heading it stands under. */
  group: string;
  /** The key that does the same. */
  keys?: string | undefined;
  run: () => void;
}

const sources = new Map<string, readonly Command[]>();
let all: readonly Command[] = [];
const listeners = new Set<() => void>();

function changed() {
  all = [...sources.values()].flat();
  for (const listener of listeners) listener();
}

/** Offers these while the component is there. */
export function useCommands(source: string, commands: readonly Command[]) {
  useEffect(() => {
    sources.set(source, commands);
    changed();
    return () => {
      sources.delete(source);
      changed();
    };
  }, [source, commands]);
}

export function useAllCommands(): readonly Command[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    () => all,
  );
}

/** Those that have every word, names that start with it first. */
export function matching<T extends { label: string; more?: string }>(commands: readonly T[], text: string): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = commands.filter((command) => words.every((word) => `${command.label} ${command.more ?? ""}`.toLowerCase().includes(word)));
  const first = words[0] ?? "";
  const rank = (command: T) => (command.label.toLowerCase().startsWith(first) ? 0 : command.label.toLowerCase().includes(first) ? 1 : 2);
  return first ? found.map((command, index) => ({ command, index })).sort((one, other) => rank(one.command) - rank(other.command) || one.index - other.index).map(({ command }) => command) : found;
}
