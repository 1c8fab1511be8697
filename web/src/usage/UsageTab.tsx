import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { LoopView, Usage } from "../api/types";
import { useNow } from "../lib/clock";
import { bytes, duration, money, short } from "../lib/format";
import { useRole } from "../loop/roles";
import { useTurns } from "../loop/TurnPicker";
import { tokensOf } from "../loops/figures";
import { Meter } from "../loops/parts";
import { Wave } from "../ui/icons";
import { Button, Empty, Loading, Problem } from "../ui/primitives";
import { Columns, Rise } from "./Chart";
import { MEASURES, SPLITS, columnsOf, forecastsOf, type Forecast, type LimitName, type Measure, type Split } from "./figures";

const SHOW: Record<LimitName, (value: number) => string> = { max_iterations: String, budget: money, tokens: short, duration };

export default function UsageTab({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const role = useRole();
  const turns = useTurns(loop);
  const now = useNow();
  const priced = loop.usage.cost_usd != null;
  const [split, setSplit] = useState<Split>("role");
  const [measure, setMeasure] = useState<Measure>(priced ? "cost" : "tokens");
  if (turns.error && !turns.data) return <Problem error={turns.error} onRetry={() => void turns.refetch()} />;
  if (!turns.data) return <Loading />;
  if (tokensOf(loop.usage) + (loop.usage.cost_usd ?? 0) === 0) return <Empty icon={<Wave />} title={t("usage.none")}>{t("usage.none_hint")}</Empty>;
  const show = measure === "cost" ? money : short;
  const columns = columnsOf(turns.data, split, measure);
  const names = [...new Set(columns.flatMap((column) => [...column.parts.keys()]))];
  const nameOf = (name: string) => (split === "role" ? role(name as "coder") : name || t("usage.unknown_model"));
  const forecasts = forecastsOf(loop, turns.data, now);
  // Nothing lies ahead of a loop that is done.
  const over = loop.status === "completed";
  const limit = measure === "cost" ? forecasts.find((one) => one.limit === "budget") : forecasts.find((one) => one.limit === "tokens");
  const sums = columns.map(((total) => (column: { sum: number }) => (total += column.sum))(0));
  return (
    <div className="mx-auto grid grid-cols-1 max-w-6xl gap-3 px-2 py-3 sm:px-4 lg:grid-cols-2">
      {forecasts.length > 0 ? <Part title={t(over ? "usage.used" : "usage.forecast")} wide><Forecasts forecasts={forecasts} over={over} /><Resources loop={loop} /></Part> : null}
      <Part title={t("usage.per_iteration")} wide={!limit} action={<><Choice label={t("usage.measure")} options={MEASURES} value={measure} name={(one) => t(`usage.measure_${one}`)} onChange={setMeasure} /><Choice label={t("usage.split")} options={SPLITS} value={split} name={(one) => t(`usage.by_${one}`)} onChange={setSplit} /></>}>
        <Columns label={t("usage.per_iteration")} names={names.map(nameOf)} show={show} columns={columns.map((column) => ({ key: String(column.iteration), label: String(column.iteration), live: column.live, values: names.map((name) => column.parts.get(name) ?? 0), title: `${t("feed.iteration", { number: column.iteration })}: ${show(column.sum)}` }))} />
      </Part>
      {limit ? (
        <Part title={t("usage.up_to_limit")}>
          <Rise label={t("usage.up_to_limit")} values={sums} limit={limit.max} each={over ? null : limit.each} show={show} limitLabel={`${t(`usage.limit_${limit.limit}`)} ${show(limit.max)}`} />
        </Part>
      ) : null}
      <Table title={t("usage.by_role")} rows={loop.usage.by_role.map((row) => ({ name: role(row.role), usage: row }))} />
      <Table title={t("usage.by_model")} rows={loop.usage.by_model.map((row) => ({ name: row.model || t("usage.unknown_model"), usage: row }))} />
    </div>
  );
}

function Part({ title, action, wide = false, children }: { title: string; action?: ReactNode; wide?: boolean; children: ReactNode }) {
  return (
    <section aria-label={title} className={wide ? "card min-w-0 p-3 lg:col-span-2" : "card min-w-0 p-3"}>
      <div className="mb-2 flex flex-wrap items-center gap-2"><h2 className="mr-auto">{title}</h2>{action}</div>
      {children}
    </section>
  );
}

export function Choice<T extends string>({ label, options, value, name, onChange }: { label: string; options: readonly T[]; value: T; name: (option: T) => string; onChange: (option: T) => void }) {
  return <div role="group" aria-label={label} className="segments flex">{options.map((option) => <Button key={option} small aria-pressed={option === value} tone={option === value ? "accent" : "plain"} onClick={() => onChange(option)}>{name(option)}</Button>)}</div>;
}

/** So few iterations before the first limit deserve a look. */
const SOON = 4;

/** How far each limit reaches, at the rate of the last iterations. */
function Forecasts({ forecasts, over }: { forecasts: readonly Forecast[]; over: boolean }) {
  const { t } = useTranslation();
  return (
    <ul data-forecasts className="grid grid-cols-1 gap-x-6 gap-y-3 sm:grid-cols-2 lg:grid-cols-4">
      {forecasts.map(({ limit, used, max, each, left }, index) => (
        <li key={limit} className="min-w-0 text-sm">
          <p className="text-xs text-faint">{t(`usage.limit_${limit}`)}</p>
          <p className="figures">{SHOW[limit](used)} <span className="text-soft">/ {SHOW[limit](max)}</span></p>
          <Meter value={used} max={max} label={t(`usage.limit_${limit}`)} tone={used > max * 0.8 ? "bad" : "accent"} />
          {over ? <p className="mt-1 text-xs text-soft">{t("usage.part", { percent: `${Math.round((used / max) * 100)}%` })}</p> : (
            <p className={index === 0 && left != null && left < SOON ? "mt-1 text-xs font-medium text-wait" : "mt-1 text-xs text-soft"}>{left == null ? t("usage.no_rate") : left === 0 ? t("usage.less_than_one") : t("usage.lasts", { count: left })}{each != null && limit !== "max_iterations" ? <span className="font-normal text-soft"> · {t("usage.each", { amount: SHOW[limit](each) })}</span> : null}</p>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Limits of the machine: nobody measures them between checks, so they have no bar. */
function Resources({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const { disk_bytes: disk, memory_bytes: memory, processes } = loop.resources;
  const limits = [disk && t("usage.resource_disk", { amount: bytes(disk) }), memory && t("usage.resource_memory", { amount: bytes(memory) }), processes && t("usage.resource_processes", { count: processes })].filter(Boolean);
  return limits.length > 0 ? <p data-resources className="figures mt-3 text-xs text-soft">{t("usage.also_limited", { limits: limits.join(", ") })}</p> : null;
}

function Table({ title, rows }: { title: string; rows: { name: string; usage: Usage }[] }) {
  const { t } = useTranslation();
  return (
    <section className="card min-w-0 overflow-x-auto p-3" tabIndex={0} aria-label={title}>
      <h2 className="mb-1">{title}</h2>
      <table className="figures w-full text-right text-xs">
        <thead className="text-faint">
          <tr><th className="py-1 text-left font-normal" scope="col">{" "}<span className="sr-only">{title}</span></th><th className="font-normal" scope="col">{t("usage.in")}</th><th className="font-normal" scope="col">{t("usage.out")}</th><th className="font-normal" scope="col">{t("usage.cached")}</th><th className="font-normal" scope="col">{t("loop.cost")}</th></tr>
        </thead>
        <tbody>
          {rows.map(({ name, usage }) => (
            <tr key={name} className="border-t border-line">
              <th scope="row" className="py-1 pr-2 text-left font-medium">{name}</th>
              <td>{short(usage.input_tokens)}</td><td>{short(usage.output_tokens + usage.reasoning_tokens)}</td><td>{short(usage.cache_read_tokens + usage.cache_write_tokens)}</td>
              <td>{usage.cost_usd == null ? t("usage.unknown") : money(usage.cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
