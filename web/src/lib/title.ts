import { useEffect } from "react";

/** The page's name in the tab and in the history, from the particular to the general. */
export function useTitle(...parts: string[]) {
  const title = [...parts.filter(Boolean), "Windlass"].join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}
