// Small figures of a loop that the list and the loop's page share.

import clsx from "clsx";
import { useTranslation } from "react-i18next";
import type { GateView, LoopView } from "../api/types";
import { countdown, duration, money, short } from "../lib/format";
import { useNow } from "../lib/clock";
import { Check, Clock, Cross, Merged, Ring, Warn } from "../ui/icons";
import { elapsedOf, modelsOf, tokensOf } from "./figures";

export function Meter({ value, max, tone = "accent", label }: { value: number; max: number; tone?: "accent" | "wait" | "bad"; label: string }) {
  const part = max > 0 ? Math.min(1, value / max) : 0;
  return (
    <span role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={max} aria-valuenow={Math.min(value, max)} className="block h-1 overflow-hidden rounded-full bg-idle-soft">
      <span className={clsx("block h-full rounded-full", { accent: "bg-accent", wait: "bg-wait", bad: "bg-bad" }[tone])} style={{ width: `${part * 100}%` }} />
    </span>
  );
}

export function Iterations({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const max = loop.limits.max_iterations;
  return (
    <span className="figures block">
      <span className="text-sm whitespace-nowrap">{loop.iterations}{max ? <span className="text-soft"> / {max}</span> : null}</span>
      {max ? <Meter value={loop.iterations} max={max} label={t("loop.iterations")} tone={loop.iterations >= max ? "wait" : "accent"} /> : null}
    </span>
  );
}

const MARK = { pass: Check, fail: Cross, timed_out: Clock, not_started: Warn } as const;

export function Gates({ gates }: { gates: readonly GateView[] }) {
  const { t } = useTranslation();
  if (gates.length === 0) return <span className="text-xs text-faint">{t("loop.no_gates")}</span>;
  const shown = gates.slice(0, 8);
  const words = (gate: GateView) => `${gate.command}: ${gate.verdict ? t(`verdict.${gate.verdict}`) : t("loop.gate_not_run")}`;
  return (
    <span className="inline-flex gap-1" aria-label={gates.map(words).join("; ")} role="img">
      {shown.map((gate, index) => {
        const Mark = gate.verdict ? MARK[gate.verdict] : Ring;
        return (
          <span key={index} title={words(gate)} className={clsx("inline-flex size-5 items-center justify-center rounded", gate.verdict === "pass" ? "bg-good-soft text-good" : gate.verdict ? "bg-bad-soft text-bad" : "bg-idle-soft text-idle")}>
            <Mark className="size-3.5" />
          </span>
        );
      })}
      {gates.length > shown.length ? <span className="text-xs text-soft">+{gates.length - shown.length}</span> : null}
    </span>
  );
}

export function Cost({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const spent = loop.usage.cost_usd;
  const budget = loop.limits.budget_usd;
  const tokens = tokensOf(loop.usage);
  return (
    <span className="figures block">
      <span className="text-sm whitespace-nowrap">
        {spent == null ? <span className="text-faint">{tokens > 0 ? t("loop.tokens", { tokens: short(tokens) }) : "–"}</span> : money(spent)}
        {budget ? <span className="text-soft"> / {money(budget)}</span> : null}
      </span>
      {budget ? <Meter value={spent ?? 0} max={budget} label={t("loop.budget")} tone={(spent ?? 0) > budget * 0.8 ? "bad" : "accent"} /> : null}
    </span>
  );
}

/** A figure against its limit, if it has one. */
export function Bar({ value, max, show, label }: { value: number; max: number | null | undefined; show: (value: number) => string; label: string }) {
  return (
    <span className="figures block" data-live={label}>
      <span className="whitespace-nowrap">{show(value)}{max ? <span className="text-soft"> / {show(max)}</span> : null}</span>
      {max ? <Meter value={value} max={max} label={label} tone={value > max * 0.8 ? "bad" : "accent"} /> : null}
    </span>
  );
}

export function Elapsed({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  return <Bar value={elapsedOf(loop, useNow())} max={loop.limits.duration_ms} show={duration} label={t("loop.time")} />;
}

/** Cost, tokens and time in two lines: the second has what the first does not say. */
export function Spent({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const tokens = tokensOf(loop.usage);
  const { max_tokens: most, duration_ms: longest } = loop.limits;
  const elapsed = elapsedOf(loop, useNow());
  return (
    <span data-spent className="block">
      <Cost loop={loop} />
      <span className="figures block text-[11px] whitespace-nowrap text-soft">
        {loop.usage.cost_usd != null && tokens > 0 ? <>{t("loop.tokens", { tokens: most ? `${short(tokens)} / ${short(most)}` : short(tokens) })} · </> : null}
        {duration(elapsed)}{longest ? ` / ${duration(longest)}` : ""}
      </span>
      {longest ? <Meter value={elapsed} max={longest} label={t("loop.time")} tone={elapsed > longest * 0.8 ? "bad" : "accent"} /> : null}
    </span>
  );
}

export function Countdown({ until }: { until: string }) {
  const now = useNow();
  return <span className="figures font-mono text-xs">{countdown(Date.parse(until) - now)}</span>;
}

/** Who works, and with which model as far as it is known. */
export function AgentName({ loop }: { loop: Pick<LoopView, "agent" | "usage"> }) {
  const [first, ...others] = modelsOf(loop.usage);
  return <>{loop.agent}{first ? <span data-model title={[first, ...others].join(", ")}> ({first}{others.length > 0 ? ` +${others.length}` : ""})</span> : null}</>;
}

export function MergedMark({ merged }: { merged: NonNullable<LoopView["merged"]> }) {
  const { t } = useTranslation();
  return <span data-merged className="inline-flex shrink-0 items-center gap-1 rounded-full bg-ask-soft px-2 py-0.5 text-xs font-medium whitespace-nowrap text-ask"><Merged className="size-3.5" />{t("loop.merged", { target: merged.target })}</span>;
}
