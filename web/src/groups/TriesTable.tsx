import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { TriesView } from "../api/types";
import { duration, money, short } from "../lib/format";
import { Size } from "../loop/DiffStat";
import { Gates } from "../loops/parts";
import { Flag } from "../ui/icons";
import { StatusBadge } from "../ui/status";
import type { Line } from "./tries";

const CELL = "px-2 py-2 align-top max-md:flex max-md:items-baseline max-md:gap-2 max-md:px-0 max-md:py-0.5";

/** The tries beside each other, the best first once one is picked; below each other where there is no room. */
export function TriesTable({ group, lines }: { group: TriesView; lines: readonly Line[] }) {
  const { t } = useTranslation();
  const heads = ["try", "agent", "result", "gates", "findings", "diff", "cost", "time"] as const;
  return (
    <table role="table" data-tries aria-label={t("tries.comparison")} className="w-full text-sm max-md:block">
      <thead role="rowgroup" className="max-md:hidden">
        <tr role="row" className="text-left text-xs text-faint">{heads.map((head) => <th key={head} role="columnheader" scope="col" className="px-2 py-1 font-normal whitespace-nowrap">{t(`tries.${head}`)}</th>)}</tr>
      </thead>
      <tbody role="rowgroup" className="max-md:block">
        {lines.map((line) => <Row key={line.each.number} line={line} won={group.winner === line.each.number} />)}
      </tbody>
    </table>
  );
}

function Cell({ label, children }: { label: string; children: ReactNode }) {
  return <td role="cell" className={CELL}><span aria-hidden className="w-20 shrink-0 text-xs text-faint md:hidden">{label}</span><span className="min-w-0">{children}</span></td>;
}

function Row({ line, won }: { line: Line; won: boolean }) {
  const { t } = useTranslation();
  const { each, loop } = line;
  return (
    <tr role="row" data-try={each.number} data-won={won || undefined} className={clsx("border-t border-line max-md:block max-md:px-3 max-md:py-2", won && "bg-good-soft")}>
      <th role="rowheader" scope="row" className="px-2 py-2 text-left align-top font-medium max-md:block max-md:px-0 max-md:pt-1 max-md:text-base">
        {loop ? <Link data-item to="/loops/$id" params={{ id: each.id }} className="break-all text-accent underline">{each.name}</Link> : <span className="break-all">{each.name}</span>}
        {won ? <span className="ml-1.5 inline-flex items-center gap-1 text-xs font-semibold whitespace-nowrap text-good"><Flag className="size-3" />{t("tries.picked")}</span> : null}
        {each.dropped ? <span className="ml-1.5 text-xs font-normal whitespace-nowrap text-soft">{t("tries.dropped")}</span> : null}
      </th>
      <Cell label={t("tries.agent")}><span className="break-words">{each.agent}</span></Cell>
      <Cell label={t("tries.result")}>
        {line.status === "waiting to start" ? <span className="text-xs text-idle">{t("tries.not_started")}</span> : <StatusBadge status={line.status} outcome={each.outcome ?? loop?.outcome} />}
        {line.status === "running" && line.iterations > 0 ? <span className="ml-1.5 text-xs whitespace-nowrap text-soft">{t("feed.iteration", { number: line.iterations })}</span> : null}
        {each.failed ? <span className="mt-0.5 block text-xs break-words text-bad">{each.failed}</span> : null}
      </Cell>
      <Cell label={t("tries.gates")}>
        {loop ? <Gates gates={loop.gates.filter((gate) => !gate.hidden)} /> : <span className="text-faint">–</span>}
        {each.hidden_gates === "not_judged" ? null : <span data-hidden-gates className={clsx("block text-xs", each.hidden_gates === "passed" ? "text-good" : "text-bad")}>{t(`tries.hidden_${each.hidden_gates}`)}</span>}
      </Cell>
      <Cell label={t("tries.findings")}><span className={clsx("figures", each.findings_open > 0 && "font-semibold text-bad")}>{each.findings_open}</span></Cell>
      <Cell label={t("tries.diff")}>{each.diff ? <Size added={each.diff.added} removed={each.diff.removed} /> : <span className="text-faint">{t("usage.unknown")}</span>}</Cell>
      <Cell label={t("tries.cost")}><span className="figures whitespace-nowrap">{line.cost === null ? <span className="text-faint">{line.tokens > 0 ? t("loop.tokens", { tokens: short(line.tokens) }) : t("usage.unknown")}</span> : money(line.cost)}</span></Cell>
      <Cell label={t("tries.time")}><span className="figures whitespace-nowrap">{duration(line.elapsedMs)}</span></Cell>
    </tr>
  );
}
