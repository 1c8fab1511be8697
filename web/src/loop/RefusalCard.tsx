import clsx from "clsx";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { GateReport } from "../api/types";
import { plain } from "../feed/ansi";
import { refusedWords } from "../feed/EventLine";
import { duration } from "../lib/format";
import { Cross, Flag } from "../ui/icons";
import { Button } from "../ui/primitives";
import type { Show } from "./LoopPage";
import { lastLines, type Refusal } from "./story";

/** So much of a gate's output shows why it failed; the rest is one click away. */
const LINES = 12;

/** Why the newest claim does not count. */
export function RefusalCard({ refusal, over, onShow }: { refusal: Refusal; over: boolean; onShow: Show }) {
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
      {refusal.gates.map((gate) => <FailedGate key={gate.command} report={gate} />)}
    </section>
  );
}

function FailedGate({ report }: { report: GateReport }) {
  const { t } = useTranslation();
  const [whole, setWhole] = useState(false);
  const end = lastLines(report.output_tail, LINES);
  const text = (whole ? report.output_tail.trimEnd() : end.lines).split("\n").map(plain).join("\n");
  return (
    <div data-failed-gate className="mt-2">
      <p className="flex flex-wrap items-baseline gap-x-2 text-xs">
        <span className="inline-flex min-w-0 items-start gap-1"><Cross className="mt-0.5 size-3.5 shrink-0 text-bad" /><code title={report.command} className="line-clamp-3 font-semibold [overflow-wrap:anywhere]">{report.command}</code></span>
        <span className="text-bad">{t(`verdict.${report.verdict}`)}{report.exit_code == null ? "" : ` · ${t("overview.exit_code", { code: report.exit_code })}`}</span>
        <span className="text-soft">{duration(report.duration_ms)}</span>
      </p>
      {text.trim() ? <pre tabIndex={0} aria-label={t("overview.output_of", { command: report.command })} className={clsx("output mt-1 overflow-auto rounded border border-line bg-sunken px-2 py-1.5", whole ? "max-h-[60vh]" : "max-h-72")}>{text}</pre> : <p className="mt-1 text-xs text-soft">{t("overview.no_output")}</p>}
      {end.cut ? <Button small className="mt-1" aria-expanded={whole} onClick={() => setWhole(!whole)}>{t(whole ? "overview.show_end" : "overview.show_whole")}</Button> : null}
    </div>
  );
}
