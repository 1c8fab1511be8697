import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { get, isUnauthorised, query } from "../api/client";
import type { ReportRow, UsageReport } from "../api/types";
import { Unauthorised } from "../app/Unauthorised";
import { baseName, money, short } from "../lib/format";
import { useTitle } from "../lib/title";
import { Wave } from "../ui/icons";
import { Empty, Loading, Problem } from "../ui/primitives";
import { Columns } from "./Chart";
import { Outcomes } from "./Outcomes";
import { Choice } from "./UsageTab";

const SPANS = ["7", "30", "90", "all"] as const;
type Span = (typeof SPANS)[number];

/** What all loops used and reached: by day, project, agent and model. */
export function UsagePage() {
  const { t } = useTranslation();
  const [span, setSpan] = useState<Span>("30");
  useTitle(t("nav.usage"));
  const report = useQuery({
    queryKey: ["report", span],
    queryFn: ({ signal }) => get<UsageReport>(`/api/report${query({ days: span === "all" ? null : Number(span) - 1, utc_offset_minutes: -new Date().getTimezoneOffset() })}`, signal),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  });
  if (isUnauthorised(report.error)) return <Unauthorised />;
  return (
    <div className="mx-auto max-w-6xl space-y-3 px-2 py-3 sm:px-4">
      <div className="flex flex-wrap items-center gap-2"><h1 className="mr-auto">{t("nav.usage")}</h1><Choice label={t("report.span")} options={SPANS} value={span} name={(one) => t(`report.span_${one}`)} onChange={setSpan} /></div>
      {report.isPending ? <Loading lines={8} /> : null}
      {report.error && !report.data ? <Problem error={report.error} onRetry={() => void report.refetch()} /> : null}
      {report.data?.total.loops === 0 ? <Empty icon={<Wave />} title={t("report.none")}>{t("report.none_hint")}</Empty> : null}
      {report.data && report.data.total.loops > 0 ? <><Report report={report.data} /><Outcomes days={span === "all" ? null : Number(span) - 1} /></> : null}
    </div>
  );
}

/** Verified of what has ended; what still runs has not failed. */
const shareOf = (row: ReportRow) => (row.ended > 0 ? `${Math.round((row.verified / row.ended) * 100)}%` : "–");
const costOf = (row: ReportRow) => (row.cost_usd == null ? "–" : money(row.cost_usd));
const eachOf = (row: ReportRow) => (row.cost_per_verified_usd == null ? "–" : money(row.cost_per_verified_usd));

function Report({ report }: { report: UsageReport }) {
  const { t, i18n } = useTranslation();
  const { total } = report;
  const priced = total.cost_usd != null;
  const show = priced ? money : short;
  const day = (name: string) => new Date(`${name}T12:00:00`).toLocaleDateString(i18n.language, { month: "numeric", day: "numeric" });
  return (
    <>
      <dl data-report-total className="grid grid-cols-2 gap-2 sm:grid-cols-3 lg:grid-cols-6">
        <Figure label={t("report.loops")}>{total.loops}</Figure>
        <Figure label={t("loop.cost")} note={total.unpriced > 0 ? t("report.unpriced", { count: total.unpriced }) : undefined}>{costOf(total)}</Figure>
        <Figure label={t("totals.tokens")}>{short(total.tokens)}</Figure>
        <Figure label={t("report.share")} note={t("report.of_ended", { verified: total.verified, ended: total.ended })}>{shareOf(total)}</Figure>
        <Figure label={t("report.each")}>{eachOf(total)}</Figure>
        <Figure label={t("totals.refused")} note={t("report.of_claims", { count: total.claims })}>{total.claims_refused}</Figure>
      </dl>
      <section aria-label={t("report.by_day")} className="card p-3">
        <h2 className="mb-2">{t("report.by_day")}</h2>
        <Columns label={t("report.by_day")} names={[priced ? t("loop.cost") : t("totals.tokens")]} show={show} columns={report.by_day.map((row) => ({ key: row.name, label: day(row.name), values: [priced ? (row.cost_usd ?? 0) : row.tokens], title: `${row.name}: ${priced ? costOf(row) : short(row.tokens)}, ${t("loops.count", { count: row.loops })}` }))} />
      </section>
      <Rows title={t("report.by_project")} rows={report.by_project} name={(row) => <Link to="/" search={{ project: row.name }} title={row.name} className="text-accent underline">{baseName(row.name)}</Link>} />
      <Rows title={t("report.by_agent")} rows={report.by_agent} name={(row) => <Link to="/" search={{ agent: row.name }} className="text-accent underline">{row.name}</Link>} />
      <Rows title={t("report.by_model")} rows={report.by_model} name={(row) => (row.name ? <Link to="/" search={{ model: row.name }} className="text-accent underline">{row.name}</Link> : t("usage.unknown_model"))} />
    </>
  );
}

function Figure({ label, note, children }: { label: string; note?: string | undefined; children: ReactNode }) {
  return (
    <div className="card px-3 py-2">
      <dt className="text-xs text-faint">{label}</dt>
      <dd className="figures text-xl font-semibold">{children}{note ? <span className="block text-xs font-normal text-soft">{note}</span> : null}</dd>
    </div>
  );
}

const CELL = "py-1 pl-3";

function Rows({ title, rows, name }: { title: string; rows: readonly ReportRow[]; name: (row: ReportRow) => ReactNode }) {
  const { t } = useTranslation();
  if (rows.length === 0) return null;
  const most = Math.max(...rows.map((row) => row.cost_usd ?? 0), 0);
  return (
    <section data-report={title} aria-label={title} tabIndex={0} className="card overflow-x-auto p-3">
      <h2 className="mb-1">{title}</h2>
      <table className="figures w-full text-right text-xs">
        <thead className="text-faint">
          <tr>
            <th scope="col" className="py-1 text-left font-normal"><span className="sr-only">{title}</span></th>
            {[t("report.loops"), t("totals.verified"), t("report.share"), t("totals.failed"), t("totals.tokens"), t("loop.cost"), t("report.each")].map((head) => <th key={head} scope="col" className={`${CELL} font-normal whitespace-nowrap`}>{head}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name} className="border-t border-line">
              <th scope="row" className="max-w-64 truncate py-1 text-left font-medium">{name(row)}</th>
              <td className={CELL}>{row.loops}</td><td className={CELL}>{row.verified}</td><td className={CELL}>{shareOf(row)}</td><td className={CELL}>{row.failed}</td><td className={CELL}>{short(row.tokens)}</td>
              <td className={CELL}>{costOf(row)}<span aria-hidden className="mt-0.5 ml-auto block h-1 rounded-full bg-accent" style={{ width: `${most > 0 ? ((row.cost_usd ?? 0) / most) * 100 : 0}%` }} /></td>
              <td className={CELL}>{eachOf(row)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
