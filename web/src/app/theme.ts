import { useSyncExternalStore } from "react";
import { remember } from "../lib/storage";

export type Theme = "system" | "light" | "dark";

/** What was chosen, the same wherever it is shown. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(watchShade, chosen), setTheme];
}

const chosen = () => (document.documentElement.dataset["theme"] as Theme | undefined) ?? "system";

function setTheme(next: Theme) {
  remember("theme", next === "system" ? null : next);
  if (next === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = next;
}

const SYSTEM = "(prefers-color-scheme: dark)";

function watchShade(changed: () => void): () => void {
  const system = matchMedia(SYSTEM);
  const attribute = new MutationObserver(changed);
  system.addEventListener("change", changed);
  attribute.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    system.removeEventListener("change", changed);
    attribute.disconnect();
  };
}

/** Light or dark as it is now, for what is painted and not styled. */
export function useShade(): string {
  return useSyncExternalStore(watchShade, () => document.documentElement.dataset["theme"] ?? (matchMedia(SYSTEM).matches ? "dark" : "light"));
}
