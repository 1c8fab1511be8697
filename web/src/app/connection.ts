// Whether the page hears the server. The streams say so; the shell shows it.

import { useSyncExternalStore } from "react";
import type { Connection } from "../api/sse";

let state: Connection = "connecting";
const listeners = new Set<() => void>();

export function setConnection(next: Connection) {
  if (next === state) return;
  // A short "connecting" between two losses would flicker.
  if (next === "connecting" && (state === "lost" || state === "denied")) return;
  state = next;
  for (const listener of listeners) listener();
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    () => state,
  );
}
