import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { download, getBytes, query } from "../api/client";
import type { LoopView } from "../api/types";
import { AnsiText } from "../feed/AnsiText";
import { bytes } from "../lib/format";
import { linesOf } from "../lib/lines";
import { sayProblem } from "../lib/toast";
import { Left, Right, ToEnd, ToStart } from "../ui/icons";
import { Button, Empty, Loading, Problem } from "../ui/primitives";
import type { Show } from "./LoopPage";
import { TurnPicker, useTurns } from "./TurnPicker";

/** So much is fetched and held at a time, however long the transcript is. */
const PAGE = 256 * 1024;
/** The server sends so much in one answer. */
const DOWNLOAD = 4 * 1024 * 1024;

export default function RawTab({ loop, turn, onShow }: { loop: LoopView; turn: string | undefined; onShow: Show }) {
  const { t } = useTranslation();
  const turns = useTurns(loop);
  const [stream, setStream] = useState<"stdout" | "stderr">("stdout");
  const all = turns.data ?? [];
  const chosen = all.find((each) => each.turn === turn) ?? all.at(-1);
  if (turns.error && !turns.data) return <Problem error={turns.error} onRetry={() => void turns.refetch()} />;
  if (!turns.data) return <Loading />;
  if (!chosen) return <Empty title={t("prompts.none")} />;
  const size = (stream === "stdout" ? chosen.stdout_bytes : chosen.stderr_bytes) ?? 0;
  return (
    <div className="flex h-full min-h-64 flex-col gap-2 px-2 py-3 sm:px-4">
      <div className="flex flex-wrap items-center gap-2">
        <TurnPicker turns={all} value={chosen.turn} onChange={(next) => onShow("raw", { turn: next })} />
        <select aria-label={t("raw.stream")} className="field w-auto" value={stream} onChange={(event) => setStream(event.target.value as "stdout" | "stderr")}>
          <option value="stdout">stdout · {bytes(chosen.stdout_bytes ?? 0)}</option>
          <option value="stderr">stderr · {bytes(chosen.stderr_bytes ?? 0)}</option>
        </select>
        <button type="button" className="text-sm text-accent underline" onClick={() => void download(`/api/loops/${encodeURIComponent(loop.id)}/turns/${encodeURIComponent(chosen.turn)}/${stream}${query({ limit: DOWNLOAD })}`).catch((error: unknown) => sayProblem(error, t))}>{t(size > DOWNLOAD ? "raw.download" : "raw.download_all")}</button>
      </div>
      <Bytes key={`${chosen.turn} ${stream}`} path={`/api/loops/${encodeURIComponent(loop.id)}/turns/${encodeURIComponent(chosen.turn)}/${stream}`} size={size} />
    </div>
  );
}

function Bytes({ path, size }: { path: string; size: number }) {
  const { t } = useTranslation();
  const [offset, setOffset] = useState(() => Math.max(0, size - PAGE));
  const page = useQuery({
    queryKey: ["raw", path, offset],
    queryFn: async ({ signal }) => {
      const got = await getBytes(`${path}${query({ offset, limit: PAGE })}`, signal);
      const total = got.total ?? size;
      return { total, ...linesOf(got.bytes, offset, total) };
    },
    placeholderData: keepPreviousData,
    gcTime: 10_000,
  });
  const total = Math.max(size, page.data?.total ?? 0);
  const end = Math.max(0, total - PAGE);
  const scroller = useRef<HTMLDivElement>(null);
  const lines = page.data?.lines ?? [];
  const virtual = useVirtualizer({ count: lines.length, getScrollElement: () => scroller.current, estimateSize: () => 20, overscan: 30 });
  const atEnd = (page.data?.end ?? 0) >= total;
  // At the end of the transcript the page stays at its end while its lines are measured, until somebody scrolls.
  const stick = useRef(true);
  const start = page.data?.start;
  useEffect(() => {
    stick.current = atEnd;
    if (!atEnd && scroller.current) scroller.current.scrollTop = 0;
  }, [start, atEnd]);
  useLayoutEffect(() => {
    if (stick.current && atEnd && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  });
  const loose = () => {
    stick.current = false;
  };
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <Button small disabled={offset === 0} onClick={() => setOffset(0)}><ToStart className="size-3.5" />{t("raw.start")}</Button>
        <Button small disabled={offset === 0} onClick={() => setOffset(Math.max(0, (page.data?.start ?? offset) - PAGE))}><Left className="size-3.5" />{t("raw.previous")}</Button>
        <input type="range" aria-label={t("raw.position")} aria-valuetext={`${bytes(offset)} / ${bytes(total)}`} min={0} max={Math.max(end, 1)} value={Math.min(offset, end)} onChange={(event) => setOffset(Number(event.target.value))} className="min-w-32 grow accent-accent" />
        <Button small disabled={atEnd} onClick={() => setOffset(Math.min(end, page.data?.end ?? 0))}>{t("raw.next")}<Right className="size-3.5" /></Button>
        <Button small onClick={() => (offset === end ? void page.refetch() : setOffset(end))}>{t("raw.end")}<ToEnd className="size-3.5" /></Button>
        <span data-raw-range className="figures text-xs text-soft">{bytes(page.data?.start ?? 0)} – {bytes(page.data?.end ?? 0)} / {bytes(total)}</span>
      </div>
      {page.error ? <Problem error={page.error} onRetry={() => void page.refetch()} /> : null}
      <div ref={scroller} onWheel={loose} onPointerDown={loose} onKeyDown={loose} tabIndex={0} role="region" aria-label={t("tab.raw")} className="card min-h-40 grow overflow-auto bg-panel py-1">
        {lines.length === 0 && !page.isPending ? <Empty title={t("feed.nothing")} /> : null}
        <div className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => (
            <div key={item.key} ref={virtual.measureElement} data-index={item.index} className="output absolute inset-x-0 top-0 px-3" style={{ transform: `translateY(${item.start}px)` }}>
              <AnsiText text={lines[item.index] ?? ""} />
            </div>
          ))}
        </div>
      </div>
    </>
  );
}
