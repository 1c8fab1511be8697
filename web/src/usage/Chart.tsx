import clsx from "clsx";
import { useWidth } from "../lib/width";
import { stepsUpTo } from "./figures";

export const SHADES = ["fill-accent", "fill-ask", "fill-brass", "fill-run", "fill-bad", "fill-idle"];
const GROUNDS = ["bg-accent", "bg-ask", "bg-brass", "bg-run", "bg-bad", "bg-idle"];

export interface ChartColumn {
  key: string;
  label: string;
  /** In the order of the names. */
  values: readonly number[];
  /** Read aloud and shown on hover. */
  title: string;
  live?: boolean;
}

const HEIGHT = 160;
const LEFT = 56;
const BOTTOM = 20;
/** For half of the last number below a line that ends there. */
const RIGHT = 12;
/** For the name of a limit above the highest line. */
const TOP = 8;

/** Stacked columns, with a line across for a limit and another for what is yet to come. */
export function Columns({ columns, names, show, label, limit }: { columns: readonly ChartColumn[]; names: readonly string[]; show: (value: number) => string; label: string; limit?: { value: number; label: string } | undefined }) {
  const most = Math.max(limit?.value ?? 0, ...columns.map((column) => column.values.reduce((sum, value) => sum + value, 0)));
  const steps = stepsUpTo(most);
  const top = steps.at(-1) || 1;
  const y = (value: number) => 8 + (HEIGHT - 8) * (1 - value / top);
  const [place, width] = useWidth<SVGSVGElement>(640);
  const slot = (width - LEFT) / Math.max(columns.length, 6);
  const bar = Math.max(1.5, Math.min(36, slot * 0.7));
  const every = Math.ceil((columns.length * 44) / (width - LEFT));
  return (
    <>
      <ul className="mb-1 flex flex-wrap gap-x-3 text-xs text-soft">
        {names.map((name, index) => <li key={name} className="inline-flex items-center gap-1.5"><span aria-hidden className={clsx("size-2.5 rounded-xs", GROUNDS[index % GROUNDS.length])} />{name}</li>)}
      </ul>
      <svg ref={place} role="img" aria-label={label} viewBox={`0 ${-TOP} ${width} ${TOP + HEIGHT + BOTTOM}`} height={TOP + HEIGHT + BOTTOM} className="figures block w-full text-[11px]" preserveAspectRatio="xMinYMid meet">
        {steps.map((step) => (
          <g key={step}>
            <line x1={LEFT} x2={width} y1={y(step)} y2={y(step)} className="stroke-line" />
            <text x={LEFT - 6} y={y(step) + 3} textAnchor="end" className="fill-soft">{show(step)}</text>
          </g>
        ))}
        {columns.map((column, index) => {
          const x = LEFT + slot * index + (slot - bar) / 2;
          let base = 0;
          return (
            <g key={column.key} data-column={column.label} className={clsx(column.live && "breathe")}>
              <title>{column.title}</title>
              {column.values.map((value, part) => {
                const from = base;
                base += value;
                return value > 0 ? <rect key={part} x={x} width={bar} y={y(base)} height={Math.max(0.5, y(from) - y(base))} className={SHADES[part % SHADES.length]} /> : null;
              })}
              {index % every === 0 ? <text x={x + bar / 2} y={HEIGHT + 14} textAnchor="middle" className="fill-soft">{column.label}</text> : null}
            </g>
          );
        })}
        {limit ? (
          <g data-limit-line>
            <line x1={LEFT} x2={width} y1={y(limit.value)} y2={y(limit.value)} className="stroke-bad" strokeDasharray="6 4" strokeWidth="1.5" />
            <text x={width} y={y(limit.value) - 4} textAnchor="end" className="fill-bad">{limit.label}</text>
          </g>
        ) : null}
      </svg>
    </>
  );
}

/** What was used up to each iteration, the limit, and where the rate of late leads. */
export function Rise({ values, limit, each, show, label, limitLabel }: { values: readonly number[]; limit: number; each: number | null; show: (value: number) => string; label: string; limitLabel: string }) {
  const last = values.at(-1) ?? 0;
  const more = each && each > 0 && last < limit ? Math.min(200, (limit - last) / each) : 0;
  const across = Math.max(values.length + more, 2);
  const [place, width] = useWidth<SVGSVGElement>(640);
  const steps = stepsUpTo(Math.max(limit, last));
  const top = steps.at(-1) || 1;
  const y = (value: number) => 8 + (HEIGHT - 8) * (1 - value / top);
  const x = (count: number) => LEFT + ((width - LEFT - RIGHT) * count) / across;
  const points = [0, ...values].map((value, index) => `${x(index)},${y(value)}`).join(" ");
  return (
    <svg ref={place} role="img" aria-label={label} viewBox={`0 ${-TOP} ${width} ${TOP + HEIGHT + BOTTOM}`} height={TOP + HEIGHT + BOTTOM} className="figures block w-full text-[11px]" preserveAspectRatio="xMinYMid meet">
      {steps.map((step) => (
        <g key={step}>
          <line x1={LEFT} x2={width} y1={y(step)} y2={y(step)} className="stroke-line" />
          <text x={LEFT - 6} y={y(step) + 3} textAnchor="end" className="fill-soft">{show(step)}</text>
        </g>
      ))}
      <polyline points={points} fill="none" className="stroke-accent" strokeWidth="2" />
      {more > 0 ? <line data-forecast x1={x(values.length)} y1={y(last)} x2={x(values.length + more)} y2={y(limit)} className="stroke-accent" strokeWidth="2" strokeDasharray="3 4" /> : null}
      <g data-limit-line>
        <line x1={LEFT} x2={width} y1={y(limit)} y2={y(limit)} className="stroke-bad" strokeDasharray="6 4" strokeWidth="1.5" />
        <text x={LEFT + 4} y={y(limit) - 4} className="fill-bad">{limitLabel}</text>
      </g>
      {[values.length, Math.round(values.length + more)].filter((count, index, all) => count > 0 && all.indexOf(count) === index).map((count) => <text key={count} x={x(count)} y={HEIGHT + 14} textAnchor="middle" className="fill-soft">{count}</text>)}
    </svg>
  );
}
