import { useEffect, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { LoopView, TurnView, Usage } from "../api/types";
import { useShade } from "../app/theme";
import { money, short } from "../lib/format";
import { tokensOf } from "../loops/figures";
import { Wave } from "../ui/icons";
import { Empty, Loading, Problem } from "../ui/primitives";
import { useRole } from "./roles";
import { useTurns } from "./TurnPicker";

const costOf = (usage: Usage) => usage.cost_usd ?? 0;
const COLOURS = ["--accent", "--ask", "--brass", "--run", "--bad", "--idle"];

export default function UsageTab({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const role = useRole();
  const turns = useTurns(loop);
  if (turns.error && !turns.data) return <Problem error={turns.error} onRetry={() => void turns.refetch()} />;
  if (!turns.data) return <Loading />;
  const used = turns.data.filter((turn) => turn.usage && tokensOf(turn.usage) + (turn.usage.cost_usd ?? 0) > 0);
  if (used.length === 0) return <Empty icon={<Wave />} title={t("usage.none")}>{t("usage.none_hint")}</Empty>;
  return (
    <div className="mx-auto grid max-w-6xl gap-3 px-2 py-3 sm:px-4 lg:grid-cols-2">
      <Chart title={t("usage.cost_over_turns")} turns={used} of={costOf} show={money} />
      <Chart title={t("usage.tokens_over_turns")} turns={used} of={tokensOf} show={short} />
      <Table title={t("usage.by_role")} rows={loop.usage.by_role.map((row) => ({ name: role(row.role), usage: row }))} />
      <Table title={t("usage.by_model")} rows={loop.usage.by_model.map((row) => ({ name: row.model || t("usage.unknown_model"), usage: row }))} />
    </div>
  );
}

/** What each role has used up to each turn. */
function Chart({ title, turns, of, show }: { title: string; turns: TurnView[]; of: (usage: Usage) => number; show: (value: number) => string }) {
  const roleOf = useRole();
  const shade = useShade();
  const place = useRef<HTMLDivElement>(null);
  const roles = useMemo(() => [...new Set(turns.map((turn) => turn.role))], [turns]);
  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const css = getComputedStyle(document.documentElement);
    const colour = (name: string) => css.getPropertyValue(name).trim();
    // A custom property may hold light-dark(); the browser resolves it only where it is used.
    const probe = document.createElement("span");
    box.append(probe);
    const resolved = (name: string) => {
      probe.style.color = `var(${name})`;
      return getComputedStyle(probe).color || colour(name);
    };
    const line = resolved("--line");
    const ink = resolved("--ink-soft");
    const strokes = roles.map((_, index) => resolved(COLOURS[index % COLOURS.length] as string));
    probe.remove();
    const series = roles.map((role) => {
      let total = 0;
      return turns.map((turn) => (total += turn.role === role && turn.usage ? of(turn.usage) : 0));
    });
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line }, font: "11px system-ui" };
    const chart = new uPlot(
      {
        width: box.clientWidth, height: 200,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false, range: [0.5, Math.max(turns.length, 2) + 0.5] } },
        axes: [{ ...axis, incrs: [1, 2, 5, 10, 20, 50, 100] }, { ...axis, size: 56, values: (_, values) => values.map((value) => show(value)) }],
        series: [{}, ...roles.map((role, index) => ({ label: role, stroke: strokes[index] as string, width: 2, ...(index > 0 ? { dash: [6, 3 * index] } : {}), points: { show: turns.length < 60 } }))],
      },
      [turns.map((_, index) => index + 1), ...series],
      box,
    );
    const watch = new ResizeObserver(() => chart.setSize({ width: box.clientWidth, height: 200 }));
    watch.observe(box);
    return () => {
      watch.disconnect();
      chart.destroy();
    };
    // The canvas keeps the colours it was painted with: another shade is another painting.
  }, [turns, roles, of, show, shade]);
  return (
    <section className="card min-w-0 p-3">
      <h2>{title}</h2>
      <p className="mb-1 flex flex-wrap gap-x-3 text-xs text-soft">
        {roles.map((role, index) => (
          <span key={role} className="inline-flex items-center gap-1"><svg width="18" height="6" aria-hidden><line x1="0" x2="18" y1="3" y2="3" stroke={`var(${COLOURS[index % COLOURS.length]})`} strokeWidth="2" strokeDasharray={index > 0 ? `6 ${3 * index}` : undefined} /></svg>{roleOf(role)}</span>
        ))}
      </p>
      <div ref={place} role="img" aria-label={title} className="min-w-0" />
    </section>
  );
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
              <td>{short(usage.input_tokens)}</td><td>{short(usage.output_tokens)}</td><td>{short(usage.cache_read_tokens + usage.cache_write_tokens)}</td>
              <td>{usage.cost_usd == null ? t("usage.unknown") : money(usage.cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
