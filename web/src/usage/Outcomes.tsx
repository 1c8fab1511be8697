import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { get, query } from "../api/client";
import type { OutcomeRow, OutcomesReport } from "../api/types";
import { money } from "../lib/format";
import { Loading, Problem } from "../ui/primitives";
import { sharesOf, sinceOf, type Share } from "./outcomes";

/** Does it pay? What loops come to, by agent, model and recipe. */
export function Outcomes({ days }: { days: number | null }) {
  const { t } = useTranslation();
  const report = useQuery({
    queryKey: ["outcomes", days],
    queryFn: ({ signal }) => get<OutcomesReport>(`/api/report/outcomes${query({ since: sinceOf(days, Date.now()) })}`, signal),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
  return (
    <section aria-labelledby="outcomes" className="space-y-3 pt-2">
      <div><h2 id="outcomes">{t("outcomes.title")}</h2><p className="text-xs text-soft">{t("outcomes.hint")}</p></div>
      {report.isPending ? <Loading lines={4} /> : null}
      {report.error && !report.data ? <Problem error={report.error} onRetry={() => void report.refetch()} /> : null}
      {report.data ? (
        <>
          <Rows title={t("report.by_agent")} rows={report.data.by_agent} total={report.data.total} name={(row) => <Link to="/" search={{ agent: row.name }} className="text-accent underline">{row.name}</Link>} />
          <Rows title={t("report.by_model")} rows={report.data.by_model} name={(row) => (row.name ? <Link to="/" search={{ model: row.name }} className="text-accent underline">{row.name}</Link> : t("usage.unknown_model"))} />
          <Rows title={t("outcomes.by_recipe")} rows={report.data.by_recipe} name={(row) => <Link to="/" search={{ recipe: row.name }} className="text-accent underline">{row.name}</Link>} />
        </>
      ) : null}
    </section>
  );
}

const CELL = "py-1 pl-3 align-top";

function Rows({ title, rows, total, name }: { title: string; rows: readonly OutcomeRow[]; total?: OutcomeRow; name: (row: OutcomeRow) => ReactNode }) {
  const { t } = useTranslation();
  if (rows.length === 0) return null;
  const label = `${t("outcomes.title")}: ${title}`;
  return (
    <section data-outcomes={title} aria-label={label} tabIndex={0} className="card overflow-x-auto p-3">
      <h3 className="mb-1 text-sm font-semibold">{title}</h3>
      <table className="figures w-full text-right text-xs">
        <thead className="text-faint">
          <tr>
            <th scope="col" className="py-1 text-left font-normal"><span className="sr-only">{title}</span></th>
            {[t("report.loops"), t("totals.verified"), t("totals.refused"), t("outcomes.iterations"), t("report.each"), t("outcomes.reviewer"), t("outcomes.first")].map((head) => <th key={head} scope="col" className="max-w-28 py-1 pl-3 align-bottom font-normal">{head}</th>)}
          </tr>
        </thead>
        <tbody>{rows.map((row) => <Row key={row.name} row={row}>{name(row)}</Row>)}</tbody>
        {total && rows.length > 1 ? <tfoot className="font-medium"><Row row={total}>{t("outcomes.total")}</Row></tfoot> : null}
      </table>
    </section>
  );
}

function Row({ row, children }: { row: OutcomeRow; children: ReactNode }) {
  const { t } = useTranslation();
  const shares = sharesOf(row);
  return (
    <tr className="border-t border-line">
      <th scope="row" className="max-w-64 truncate py-1 text-left align-top font-medium">{children}</th>
      <td className={CELL}>{row.loops}</td>
      <td className={CELL}><Counted share={shares.verified} /></td>
      <td className={CELL}><Counted share={shares.refused} /></td>
      <td className={CELL}>{row.iterations_per_verified == null ? "–" : row.iterations_per_verified.toFixed(1)}</td>
      <td className={CELL}>{row.cost_per_verified_usd == null ? (row.unpriced > 0 && row.verified > 0 ? t("usage.unknown") : "–") : money(row.cost_per_verified_usd)}</td>
      <td className={CELL}><Counted share={shares.reviewed} /></td>
      <td className={CELL}><Counted share={shares.first} /></td>
    </tr>
  );
}

/** A share with its counts. */
function Counted({ share }: { share: Share }) {
  const { t } = useTranslation();
  if (share.percent === null) return <>–</>;
  return <span className="whitespace-nowrap">{share.percent}% <span className="text-soft">{t("outcomes.of", { part: share.part, of: share.of })}</span></span>;
}
