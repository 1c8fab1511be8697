import { useState } from "react";
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
