import { useState, useSyncExternalStore } from "react";
import { remember, remembered } from "../lib/storage";

export type Theme = "system" | "light" | "dark";

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, set] = useState<Theme>(() => (remembered("theme") as Theme | null) ?? "system");
  return [
    theme,
    (next) => {
      remember("theme", next === "system" ? null : next);
      if (next === "system") delete document.documentElement.dataset["theme"];
      else document.documentElement.dataset["theme"] = next;
      set(next);
    },
  ];
}

const SYSTEM = "(prefers-color-scheme: dark)";

function watchShade(changed: () => void): () => void {
  const system = matchMedia(SYSTEM);
  const chosen = new MutationObserver(changed);
  system.addEventListener("change", changed);
  chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    system.removeEventListener("change", changed);
    chosen.disconnect();
  };
}

/** Light or dark as it is now, for what is painted and not styled. */
export function useShade(): string {
  return useSyncExternalStore(watchShade, () => document.documentElement.dataset["theme"] ?? (matchMedia(SYSTEM).matches ? "dark" : "light"));
}
