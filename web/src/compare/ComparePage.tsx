import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { get, isUnauthorised, query } from "../api/client";
import type { Compared, ComparedLoop } from "../api/types";
import { Unauthorised } from "../app/Unauthorised";
import { duration, money, short } from "../lib/format";
import { useTitle } from "../lib/title";
import { Size } from "../loop/DiffStat";
import { Branch, Merged, Right } from "../ui/icons";
import { Empty, Loading, Problem } from "../ui/primitives";
import { StatusBadge } from "../ui/status";
import { gatesOf, idsOf } from "./facts";

const DiffFiles = lazy(() => import("../diff/DiffFiles").then((file) => ({ default: file.DiffFiles })));

/** Loops side by side, and how their work differs. */
export function ComparePage() {
  const { t } = useTranslation();
  const { loops } = useSearch({ from: "/compare" });
  const ids = idsOf(loops);
  const compared = useQuery({ queryKey: ["compare", ids], enabled: ids.length > 1, retry: false, staleTime: 10_000, queryFn: ({ signal }) => get<Compared>(`/api/loops/compare${query({ loops: ids.join(",") })}`, signal) });
  useTitle(t("compare.title"), compared.data?.loops.map((loop) => loop.name).join(", ") ?? "");
  if (isUnauthorised(compared.error)) return <Unauthorised />;
  return (
    <div className="mx-auto max-w-[110rem] space-y-3 px-2 py-3 sm:px-4">
      <h1>{t("compare.title")}</h1>
      {ids.length < 2 ? <Empty icon={<Branch />} title={t("compare.none")}>{t("compare.none_hint")} <Link to="/" className="text-accent underline">{t("nav.loops")}</Link></Empty> : null}
      {compared.isLoading ? <Loading lines={8} /> : null}
      {compared.error && !compared.data ? <Problem error={compared.error} onRetry={() => void compared.refetch()} /> : null}
      {compared.data ? <><Table loops={compared.data.loops} /><Difference loops={compared.data.loops} /></> : null}
    </div>
  );
}

function Table({ loops }: { loops: readonly ComparedLoop[] }) {
  const { t } = useTranslation();
  const unknown = <span className="text-faint">{t("usage.unknown")}</span>;
  const rows: [string, string, (loop: ComparedLoop) => ReactNode][] = [
    ["outcome", t("loops.outcome"), (loop) => <span className="inline-flex flex-wrap items-center gap-1"><StatusBadge status={loop.status} outcome={loop.outcome} />{loop.merged ? <span className="inline-flex items-center gap-1 text-xs text-ask"><Merged className="size-3.5" />{t("completed.merged")}</span> : null}</span>],
    ["agent", t("loop.agent"), (loop) => `${loop.agent}${loop.model ? ` (${loop.model})` : ""}`],
    ["recipe", t("new.recipe"), (loop) => loop.recipe],
    ["parent", t("compare.parent"), (loop) => (loop.parent ? <Link to="/loops/$id" params={{ id: loop.parent.id }} className="text-accent underline">{t("loop.fork_of", { name: loop.parent.name, iteration: loop.parent.iteration })}</Link> : null)],
    ["gates", t("loop.gates"), (loop) => <GateCount loop={loop} hidden={false} />],
    ["hidden", t("compare.hidden"), (loop) => <GateCount loop={loop} hidden />],
    ["findings", t("tab.findings"), (loop) => (loop.findings_open == null ? null : <span className={loop.findings_open > 0 ? "text-bad" : undefined}>{t("compare.findings", { open: loop.findings_open, resolved: loop.findings_resolved ?? 0 })}</span>)],
    ["claims", t("loop.claims"), (loop) => <>{loop.claims.made}{loop.claims.refused > 0 ? <span className="text-bad"> · {t("loop.refused", { count: loop.claims.refused })}</span> : null}</>],
    ["iterations", t("loop.iterations"), (loop) => loop.iterations],
    ["cost", t("loop.cost"), (loop) => (loop.cost_usd == null ? unknown : money(loop.cost_usd))],
    ["tokens", t("loop.token_limit"), (loop) => short(loop.tokens)],
    ["time", t("loop.time"), (loop) => duration(loop.elapsed_ms)],
    ["changes", t("overview.changes"), (loop) => (loop.changes ? <>{t("diff.files", { count: loop.changes.files })} <Size added={loop.changes.added} removed={loop.changes.removed} /></> : unknown)],
  ];
  // What no loop has is left out.
  const shown = rows.filter(([key]) => (key === "parent" ? loops.some((loop) => loop.parent) : key === "findings" ? loops.some((loop) => loop.findings_open != null) : key === "hidden" || key === "gates" ? loops.some((loop) => gatesOf(loop, key === "hidden")) : true));
  return (
    <section aria-label={t("compare.title")} tabIndex={0} className="card overflow-x-auto">
      <table data-compare className="figures w-full text-sm max-sm:[&_[data-badge]]:whitespace-normal">
        <thead>
          <tr className="border-b border-line text-left">
            <th scope="col" className="px-2 py-2 font-normal sm:px-3"><span className="sr-only">{t("compare.what")}</span></th>
            {loops.map((loop) => <th key={loop.id} scope="col" className="px-2 py-2 align-top font-semibold sm:min-w-36 sm:px-3"><Link to="/loops/$id" params={{ id: loop.id }} title={loop.goal} className="break-all text-accent underline">{loop.name}</Link></th>)}
          </tr>
        </thead>
        <tbody>
          {shown.map(([key, label, cell]) => (
            <tr key={key} data-fact={key} className="border-b border-line last:border-0">
              <th scope="row" className="px-2 py-1.5 text-left align-top text-xs font-normal text-faint sm:px-3 sm:whitespace-nowrap">{label}</th>
              {loops.map((loop) => <td key={loop.id} className="px-2 py-1.5 align-top break-words sm:px-3">{cell(loop)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function GateCount({ loop, hidden }: { loop: ComparedLoop; hidden: boolean }) {
  const { t } = useTranslation();
  const gates = gatesOf(loop, hidden);
  if (!gates) return <span className="text-faint">–</span>;
  if (gates.pending === gates.count) return <span className="text-faint">{t("loop.gate_not_run")}</span>;
  return <span className={gates.passed === gates.count ? "text-good" : "text-bad"}>{t("strip.gates", { passed: gates.passed, count: gates.count })}</span>;
}

/** From the work of one loop to that of another. */
function Difference({ loops }: { loops: readonly ComparedLoop[] }) {
  const { t } = useTranslation();
  const [from, setFrom] = useState(loops[0]?.id ?? "");
  const [to, setTo] = useState(loops[1]?.id ?? "");
  const known = (id: string) => loops.some((loop) => loop.id === id);
  const ready = from !== to && known(from) && known(to);
  const diff = useQuery({
    queryKey: ["compare", "diff", from, to, ...loops.filter((loop) => loop.id === from || loop.id === to).map((loop) => loop.head_commit)],
    enabled: ready,
    retry: false,
    staleTime: 60_000,
    queryFn: ({ signal }) => get<Compared>(`/api/loops/compare${query({ loops: `${from},${to}`, files: "true" })}`, signal),
  });
  const found = diff.data?.differences?.[0];
  const files = found?.files ?? [];
  const choice = (label: string, value: string, onChange: (id: string) => void) => <select aria-label={label} className="field w-auto max-w-full" value={value} onChange={(event) => onChange(event.target.value)}>{loops.map((loop) => <option key={loop.id} value={loop.id}>{loop.name}</option>)}</select>;
  return (
    <section aria-label={t("compare.difference")} className="card flex flex-col">
      <div className="flex flex-wrap items-center gap-2 px-3 py-2">
        <h2>{t("compare.difference")}</h2>
        {choice(t("compare.from"), from, setFrom)}
        <Right className="size-4 shrink-0" label={t("diff.to")} />
        {choice(t("compare.to"), to, setTo)}
        {files.length > 0 ? <span data-diff-total className="text-xs text-soft">{t("diff.files", { count: files.length + (found?.files_left_out ?? 0) })} · <Size added={files.reduce((sum, file) => sum + file.added, 0)} removed={files.reduce((sum, file) => sum + file.removed, 0)} /></span> : null}
      </div>
      {!ready ? <p className="px-3 pb-3 text-sm text-soft">{t("compare.choose")}</p> : null}
      {ready && diff.isPending ? <Loading /> : null}
      {ready && diff.error ? <Problem error={diff.error} onRetry={() => void diff.refetch()} /> : null}
      {found && files.length === 0 ? <p data-same className="px-3 pb-3 text-sm text-soft">{t("compare.same")}</p> : null}
      {found && files.length > 0 ? <div className="flex h-[75vh] flex-col"><Suspense fallback={<Loading />}><DiffFiles key={`${from} ${to}`} diff={{ from, to, files, files_left_out: found.files_left_out ?? 0 }} mode="unified" findings={[]} comments={[]} /></Suspense></div> : null}
    </section>
  );
}
