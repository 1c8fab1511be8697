// Short words about what was done. Kept outside React so that anything can speak.

import type { TFunction } from "i18next";
import { Refusal } from "../api/client";
import { hintWords, problemWords } from "../api/problem";

export interface Toast {
  id: number;
  text: string;
  hint?: string | undefined;
  bad: boolean;
}

let toasts: Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();

function set(now: Toast[]) {
  toasts = now;
  for (const listener of listeners) listener();
}

export function say(text: string, options: { bad?: boolean; hint?: string | undefined } = {}) {
  const toast: Toast = { id: next, text, hint: options.hint, bad: options.bad ?? false };
  next += 1;
  set([...toasts, toast].slice(-4));
  setTimeout(() => dismiss(toast.id), toast.bad ? 12_000 : 4_000);
}

/** A refusal in the page's language and the server's words, with its hint; anything else is a server that does not answer. */
export function sayProblem(error: unknown, t: TFunction) {
  if (error instanceof Refusal) {
    const [title, ...rest] = problemWords(error.problem, t);
    say(title ?? "", { bad: true, hint: [...rest, hintWords(error.problem)].filter(Boolean).join(" · ") || undefined });
  }
  else say(t("state.unreachable"), { bad: true });
}

export function dismiss(id: number) {
  set(toasts.filter((toast) => toast.id !== id));
}

export const toastStore = {
  subscribe: (listener: () => void) => {
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  },
  snapshot: () => toasts,
};
