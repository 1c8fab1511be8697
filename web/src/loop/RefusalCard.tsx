import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { getBytes, query } from "../api/client";
import type { LoopView } from "../api/types";
import { plain } from "../feed/ansi";
import { refusedWords } from "../feed/EventLine";
import { bytes, duration } from "../lib/format";
import { Cross, Flag } from "../ui/icons";
import { Button, Problem } from "../ui/primitives";
import type { Show } from "./LoopPage";
import { lastLines, type FailedGate, type Refusal } from "./story";

/** So much of a gate's output shows why it failed; the rest is one click away. */
const LINES = 12;

/** Why the newest claim does not count. */
export function RefusalCard({ loop, refusal, over, onShow }: { loop: Pick<LoopView, "id">; refusal: Refusal; over: boolean; onShow: Show }) {
  const { t } = useTranslation();
  return (
    <section data-refusal className="card border-l-4 border-l-bad px-3 py-2.5">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <h2 className="flex items-center gap-1.5 text-bad"><Flag className="size-4" />{t(refusal.because ? "overview.refused" : "overview.rejected", { number: refusal.iteration })}</h2>
        <span className="ml-auto flex gap-1.5">
          <Button small onClick={() => onShow("overview", { iteration: refusal.iteration })}>{t("overview.what_happened")}</Button>
          <Button small onClick={() => onShow("diff", { iteration: refusal.iteration })}>{t("tab.diff")}</Button>
        </span>
      </div>
      {refusal.because && (refusal.because.type !== "gates" || refusal.gates.length === 0) ? <p className="mt-1 text-sm break-words">{refusedWords(refusal.because, t)}</p> : null}
      {refusal.reason ? <p className="mt-1 text-sm break-words whitespace-pre-wrap">{refusal.reason}</p> : null}
      {refusal.open > 0 ? <p className="mt-1 text-sm">{t(over ? "overview.findings_left" : "overview.findings_open", { count: refusal.open })}</p> : null}
      {refusal.gates.map((gate) => <GateOutput key={gate.command} loop={loop} iteration={refusal.iteration} report={gate} />)}
    </section>
  );
}

/** A report has so much of the end; what is longer is asked for. */
const TAIL = 7_000;
/** More than this is not shown at once: the end is what tells. */
const LONGEST = 512 * 1024;

interface Whole {
  text: string;
  cut: boolean;
}

async function wholeLog(loop: string, iteration: number, report: FailedGate, signal: AbortSignal): Promise<Whole> {
  const path = `/api/loops/${encodeURIComponent(loop)}/gates/${iteration}/${report.index + 1}/stdout`;
  const part = (offset: number, limit: number) => getBytes(`${path}${query({ sha256: report.output_sha256, offset, limit })}`, signal);
  const total = (await part(0, 1)).total ?? LONGEST;
  const { bytes: read } = await part(Math.max(0, total - LONGEST), LONGEST);
  return { text: new TextDecoder().decode(read), cut: total > LONGEST };
}

function GateOutput({ loop, iteration, report }: { loop: Pick<LoopView, "id">; iteration: number; report: FailedGate }) {
  const { t } = useTranslation();
  const [whole, setWhole] = useState(false);
  const isLong = report.output_tail.length > TAIL && Boolean(report.output_sha256);
  const log = useQuery({ queryKey: ["log", loop.id, iteration, report.index, report.output_sha256], enabled: whole && isLong, staleTime: Number.POSITIVE_INFINITY, queryFn: ({ signal }) => wholeLog(loop.id, iteration, report, signal) });
  const end = lastLines(report.output_tail, LINES);
  const all = log.data?.text ?? report.output_tail;
  const text = (whole ? all.trimEnd() : end.lines).split("\n").map(plain).join("\n");
  return (
    <div data-failed-gate className="mt-2">
      <p className="flex flex-wrap items-baseline gap-x-2 text-xs">
        <span className="inline-flex min-w-0 items-start gap-1"><Cross className="mt-0.5 size-3.5 shrink-0 text-bad" /><code title={report.command} className="line-clamp-3 font-semibold [overflow-wrap:anywhere]">{report.command}</code></span>
        <span className="text-bad">{t(`verdict.${report.verdict}`)}{report.exit_code == null ? "" : ` · ${t("overview.exit_code", { code: report.exit_code })}`}</span>
        <span className="text-soft">{duration(report.duration_ms)}</span>
      </p>
      {whole && log.data?.cut ? <p className="mt-1 text-xs text-wait">{t("overview.log_cut", { size: bytes(LONGEST) })}</p> : null}
      {text.trim() ? <pre tabIndex={0} aria-label={t("overview.output_of", { command: report.command })} className={clsx("output mt-1 overflow-auto rounded border border-line bg-sunken px-2 py-1.5", whole ? "max-h-[60vh]" : "max-h-72")}>{text}</pre> : <p className="mt-1 text-xs text-soft">{t("overview.no_output")}</p>}
      {whole && log.error ? <Problem error={log.error} onRetry={() => void log.refetch()} /> : null}
      {end.cut ? <Button small className="mt-1" aria-expanded={whole} disabled={whole && isLong && log.isPending} onClick={() => setWhole(!whole)}>{t(whole ? "overview.show_end" : "overview.show_whole")}</Button> : null}
    </div>
  );
}
