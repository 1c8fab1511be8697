import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { useTranslation } from "react-i18next";
import { get } from "../api/client";
import type { FindingsView, LoopView } from "../api/types";
import { Check, Cross, Eye, Warn } from "../ui/icons";
import { Empty, Loading, Problem } from "../ui/primitives";

export function useFindings(loop: LoopView) {
  return useQuery({ queryKey: ["loop", loop.id, "findings"], queryFn: ({ signal }) => get<FindingsView>(`/api/loops/${encodeURIComponent(loop.id)}/findings`, signal) });
}

/** What the reviewer still objects to. */
export function OpenFindings({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const findings = useFindings(loop);
  if (!findings.data) return <Loading lines={2} />;
  const open = findings.data.findings.filter((finding) => finding.status.type === "open");
  if (open.length === 0) return <p className="text-sm text-soft">{t("overview.no_findings")}</p>;
  return (
    <ul data-open-findings className="space-y-2">
      {open.map((finding) => {
        const isBug = finding.severity === "bug";
        return (
          <li key={String(finding.id)} className={clsx("border-l-2 pl-2 text-xs", isBug ? "border-bad" : "border-wait")}>
            <p className="flex flex-wrap items-baseline gap-x-2"><span className={clsx("font-semibold", isBug ? "text-bad" : "text-wait")}>{isBug ? <Cross className="inline size-3 align-[-1px]" /> : <Warn className="inline size-3 align-[-1px]" />} {t(`severity.${finding.severity}`)}</span><code className="break-all text-soft">{finding.file}{finding.line ? `:${finding.line}` : ""}</code></p>
            <p className="break-words whitespace-pre-wrap">{finding.description}</p>
          </li>
        );
      })}
    </ul>
  );
}

export default function FindingsTab({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const findings = useFindings(loop);
  if (findings.error && !findings.data) return <Problem error={findings.error} onRetry={() => void findings.refetch()} />;
  if (!findings.data) return <Loading />;
  const all = [...findings.data.findings].sort((one, other) => Number(other.status.type === "open") - Number(one.status.type === "open"));
  if (all.length === 0) return <Empty icon={<Eye />} title={t("findings.none")}>{t("findings.none_hint")}</Empty>;
  return (
    <ul className="mx-auto max-w-6xl space-y-2 px-2 py-3 sm:px-4">
      {all.map((finding) => {
        const open = finding.status.type === "open";
        return (
          <li key={String(finding.id)} data-item tabIndex={-1} className={clsx("card border-l-4 px-3 py-2", !open ? "border-l-good" : finding.severity === "bug" ? "border-l-bad" : "border-l-wait")}>
            <div className="flex flex-wrap items-baseline gap-x-2 text-xs">
              <span className={clsx("font-semibold", !open ? "text-good" : finding.severity === "bug" ? "text-bad" : "text-wait")}>{open ? (finding.severity === "bug" ? <Cross className="inline size-3.5 align-[-2px]" /> : <Warn className="inline size-3.5 align-[-2px]" />) : <Check className="inline size-3.5 align-[-2px]" />} {t(`severity.${finding.severity}`)} · {t(`finding.${finding.status.type}`)}</span>
              <code className="break-all text-soft">{finding.file}{finding.line ? `:${finding.line}` : ""}</code>
              {finding.section ? <span className="text-soft">{t("plan.section", { number: finding.section })}</span> : null}
              {finding.recurrence > 1 ? <span className="text-wait">{t("findings.again", { count: finding.recurrence })}</span> : null}
              <span className="ml-auto font-mono text-faint">{String(finding.id)}</span>
            </div>
            <p className="mt-1 text-sm break-words whitespace-pre-wrap">{finding.description}</p>
            {finding.scenario ? <p className="mt-1 text-sm break-words whitespace-pre-wrap text-soft">{finding.scenario}</p> : null}
          </li>
        );
      })}
    </ul>
  );
}
