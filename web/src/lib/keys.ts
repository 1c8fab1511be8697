// Keys of one letter, and two in a row ("g l"). They rest while somebody types, and can be switched off.

import { useEffect, useRef } from "react";
import { remember, remembered } from "./storage";

export type Keys = Record<string, () => void>;

export const shortcutsOn = () => remembered("shortcuts") !== "off";
export const setShortcuts = (on: boolean) => remember("shortcuts", on ? null : "off");

const typing = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

let pending = "";
let pendingAt = 0;

export function useKeys(keys: Keys) {
  const current = useRef(keys);
  useEffect(() => {
    current.current = keys;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !shortcutsOn()) return;
      if (typing(event.target) || document.querySelector('[role="dialog"],[role="menu"]')) return;
      const two = pending && event.timeStamp - pendingAt < 1200 ? `${pending} ${event.key}` : "";
      const action = (two && current.current[two]) || (!two && current.current[event.key]);
      if (!action) return;
      event.preventDefault();
      pending = "";
      action();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

/** j and k go from one `data-item` of the page to the next, wherever a page has some. */
export function useItemKeys() {
  const move = (by: number) => {
    const items = [...document.querySelectorAll<HTMLElement>("main [data-item]")];
    const at = items.findIndex((item) => item.contains(document.activeElement));
    const next = items[Math.min(items.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
}

/** Remembers the first of two; installed once, before the others hear of the key. */
export function watchPrefix() {
  document.addEventListener("keydown", (event) => {
    if (event.key === "g" && !typing(event.target) && !event.ctrlKey && !event.metaKey && !event.altKey) {
      pending = "g";
      pendingAt = event.timeStamp;
    } else if (!["Shift", "Control", "Alt", "Meta"].includes(event.key)) {
      setTimeout(() => {
        pending = "";
      });
    }
  }, true);
}
