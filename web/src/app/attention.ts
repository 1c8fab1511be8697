// Which loops need a person, on every page and in a hidden tab; and the browser's notifications about them.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { get, query } from "../api/client";
import type { LoopList, LoopSummary } from "../api/types";
import { remember, remembered } from "../lib/storage";
import { setWaiting } from "../lib/title";
import { baseName } from "../lib/format";
import { stateOf } from "../loops/arrange";
import { phaseWords } from "../loop/phase";

const WANTED = "waiting,awaiting_review,paused,interrupted,exhausted,stalled,errored";
/** A hidden page has no stream; it asks. Browsers let hidden pages do so about once a minute. */
const EVERY_MS = 15_000;

/** What changes when a loop needs somebody anew. */
const keyOf = (loop: LoopSummary) => `${loop.id} ${loop.status} ${loop.updated_at}`;

/** Loops that need somebody and did not before. The first look finds nothing new. */
export function newlyWaiting(known: ReadonlySet<string> | null, loops: readonly LoopSummary[]): LoopSummary[] {
  return known ? loops.filter((loop) => !known.has(keyOf(loop))) : [];
}

export function useAttention(open: (id: string) => void) {
  const { t } = useTranslation();
  const known = useRef<ReadonlySet<string> | null>(null);
  const notify = useNotifications();
  const found = useQuery({
    queryKey: ["attention"],
    queryFn: ({ signal }) => get<LoopList>(`/api/loops${query({ status: WANTED, limit: 200 })}`, signal),
    refetchInterval: EVERY_MS,
    refetchIntervalInBackground: true,
    select: (list) => list.loops.filter((loop) => stateOf(loop) === "person"),
  });
  const loops = found.data;
  useEffect(() => {
    if (!loops) return;
    setWaiting(loops.length);
    const fresh = newlyWaiting(known.current, loops);
    known.current = new Set(loops.map(keyOf));
    if (!notify || document.hasFocus()) return;
    for (const loop of fresh.slice(0, 3)) {
      const note = new Notification(`${loop.name} · ${baseName(loop.project)}`, { body: phaseWords(loop, t), tag: loop.id });
      note.onclick = () => {
        window.focus();
        open(loop.id);
        note.close();
      };
    }
  }, [loops, notify, open, t]);
}

const listeners = new Set<() => void>();
const supported = () => "Notification" in window;
const isOn = () => supported() && Notification.permission === "granted" && remembered("notify") === "on";

function useNotifications(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    isOn,
  );
}

/** Whether they are on, and the switch. The browser asks the person once; what it answers is said. */
export function useNotificationSwitch(): { on: boolean; possible: boolean; toggle: () => Promise<"on" | "off" | "denied"> } {
  const on = useNotifications();
  const toggle = async () => {
    const allowed = on || (await Notification.requestPermission()) === "granted";
    remember("notify", !on && allowed ? "on" : null);
    for (const listener of listeners) listener();
    return on ? "off" : allowed ? "on" : "denied";
  };
  return { on, possible: supported(), toggle };
}
