import { useMemo, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { LoopSummary } from "../api/types";
import { useNow } from "../lib/clock";
import { money, short } from "../lib/format";
import { midnight, totalsSince } from "./figures";

/** What the loops that were started today have come to. */
export function TotalsBar({ loops }: { loops: readonly LoopSummary[] }) {
  const { t } = useTranslation();
  const since = midnight(useNow());
  const totals = useMemo(() => totalsSince(loops, since), [loops, since]);
  return (
    <dl data-totals aria-label={t("totals.label")} className="figures flex flex-wrap items-baseline gap-x-4 gap-y-1 px-3 pb-1 text-xs text-soft sm:px-4">
      <Total label={t("totals.started")}>{totals.loops}</Total>
      <Total label={t("totals.cost")}>{totals.cost == null ? "–" : money(totals.cost)}</Total>
      <Total label={t("totals.tokens")}>{short(totals.tokens)}</Total>
      <Total label={t("totals.verified")}>{totals.verified}</Total>
      <Total label={t("totals.refused")}>{totals.refused}</Total>
    </dl>
  );
}

function Total({ label, children }: { label: string; children: ReactNode }) {
  return <div className="flex items-baseline gap-1.5"><dt className="text-faint">{label}</dt><dd className="font-semibold text-ink">{children}</dd></div>;
}
