import { Link } from "@tanstack/react-router";
import { useMemo, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { LoopSummary } from "../api/types";
import { useNow } from "../lib/clock";
import { money, short } from "../lib/format";
import { STATES, statesOf, type View } from "./arrange";
import { midnight, totalsSince } from "./figures";

/** How many loops need somebody, run and have finished, and what those that were started today have come to. */
export function TotalsBar({ loops }: { loops: readonly LoopSummary[] }) {
  const { t } = useTranslation();
  const since = midnight(useNow());
  const totals = useMemo(() => totalsSince(loops, since), [loops, since]);
  const states = useMemo(() => statesOf(loops), [loops]);
  return (
    <dl data-totals aria-label={t("totals.label")} className="figures flex flex-wrap items-baseline gap-x-4 gap-y-2 px-3 pb-1 text-xs text-soft sm:px-4">
      {STATES.map((state) => <Total key={state} label={t(`loops.state_${state}`)} view={{ status: state }}>{state === "person" && states.person > 0 ? <span className="text-ask">{states.person}</span> : states[state]}</Total>)}
      <span aria-hidden className="border-l border-line-strong text-transparent max-sm:hidden">.</span>
      <Total label={t("totals.started")} view={{ since: "today" }}>{totals.loops}</Total>
      <Total label={t("totals.cost")}>{totals.cost == null ? "–" : money(totals.cost)}</Total>
      <Total label={t("totals.tokens")}>{short(totals.tokens)}</Total>
      <Total label={t("totals.verified")} view={{ since: "today", status: "verified" }}>{totals.verified}</Total>
      <Total label={t("totals.failed")} view={{ since: "today", status: "failed" }}>{totals.failed > 0 ? <span className="text-bad">{totals.failed}</span> : 0}</Total>
      <Total label={t("totals.refused")}>{totals.refused}</Total>
    </dl>
  );
}

/** A figure that stands for loops leads to them. */
function Total({ label, view, children }: { label: string; view?: View; children: ReactNode }) {
  return (
    <div className="flex items-baseline gap-1.5">
      <dt className="text-faint">{label}</dt>
      <dd className="font-semibold text-ink">{view ? <Link to="/" search={view as Record<string, string>} className="-my-1 inline-block min-w-6 py-1 underline decoration-line-strong underline-offset-2">{children}</Link> : children}</dd>
    </div>
  );
}
