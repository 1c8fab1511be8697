import { useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import type { LoopView } from "../api/types";
import { RowView } from "../feed/RowView";
import { Dot } from "../ui/icons";
import type { Show } from "./LoopPage";
import { activeSide } from "./phase";
import type { Feed } from "./useFeed";

const SHOWN = 12;

/** The newest lines of whoever works; all of them are in the monitor. */
export function LiveWords({ loop, feed, onShow }: { loop: LoopView; feed: Feed; onShow: Show }) {
  const { t } = useTranslation();
  const { window } = feed;
  useSyncExternalStore(window.subscribe, window.snapshot);
  const side = activeSide(loop) ?? "coder";
  const rows = window.panes[side].rows.slice(-SHOWN);
  if (rows.length === 0) return null;
  return (
    <section data-live-words aria-label={t("overview.last_words")} className="card min-w-0 overflow-hidden">
      <div className="flex flex-wrap items-baseline justify-between gap-2 px-3 pt-2.5 pb-1">
        <h2>{t("overview.live")} <span className="text-xs font-normal text-soft"><Dot className="inline size-3 align-[-1px] text-run" /> {side === "coder" ? loop.agent : loop.review?.reviewer}</span></h2>
        <button type="button" className="text-xs text-accent underline" onClick={() => onShow("monitor")}>{t("tab.monitor")}</button>
      </div>
      <div role="log" aria-live="off" aria-label={t(`side.${side}`)} tabIndex={0} className="max-h-96 overflow-auto pb-2">
        {rows.map((row) => <RowView key={row.key} row={row} find={undefined} output={row.kind === "tool" ? row.output : row.kind === "event" ? undefined : row.text} />)}
      </div>
    </section>
  );
}
