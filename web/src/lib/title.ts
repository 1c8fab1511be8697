import { useEffect } from "react";

// The page's name, and in front of it how many loops need a person: seen also while another tab is looked at.
let name = "Windlass";
let waiting = 0;
const show = () => {
  document.title = waiting > 0 ? `(${waiting}) ${name}` : name;
};

/** The page's name in the tab and in the history, from the particular to the general. */
export function useTitle(...parts: string[]) {
  const title = [...parts.filter(Boolean), "Windlass"].join(" · ");
  useEffect(() => {
    name = title;
    show();
  }, [title]);
}

export function setWaiting(count: number) {
  waiting = count;
  show();
}
