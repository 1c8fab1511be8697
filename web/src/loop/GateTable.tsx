import clsx from "clsx";
import { useTranslation } from "react-i18next";
import type { GateReport, LoopView } from "../api/types";
import { duration } from "../lib/format";
import { Check, Cross, Ring } from "../ui/icons";

type Verdict = GateReport["verdict"] | null | undefined;

/** Each gate now, and on the commit that the loop started from: a gate that passed there proves less. */
export function GateTable({ loop, base }: { loop: LoopView; base: ReadonlyMap<string, GateReport["verdict"]> }) {
  const { t } = useTranslation();
  if (loop.gates.length === 0) return <p className="text-sm text-soft">{t("overview.no_gates")}</p>;
  return (
    <table data-gates className="w-full table-fixed text-xs">
      <thead><tr className="text-left text-faint"><th scope="col" className="py-0.5 font-normal">{t("preview.gate")}</th><th scope="col" className="w-20 px-2 font-normal">{t("overview.on_base")}</th><th scope="col" className="w-24 font-normal">{t("overview.now")}</th></tr></thead>
      <tbody>
        {loop.gates.map((gate) => (
          <tr key={gate.command} className="border-t border-line align-baseline">
            <th scope="row" className="py-1 text-left font-normal"><code title={gate.command} className="line-clamp-3 [overflow-wrap:anywhere]">{gate.command}</code></th>
            <td className="px-2 py-1"><Mark verdict={base.get(gate.command)} /></td>
            <td className="py-1"><Mark verdict={gate.verdict} />{gate.exit_code ? <span className="text-soft"> ({gate.exit_code})</span> : null}{gate.duration_ms == null ? null : <span className="figures block text-faint">{duration(gate.duration_ms)}</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Mark({ verdict }: { verdict: Verdict }) {
  const { t } = useTranslation();
  const Icon = verdict === "pass" ? Check : verdict ? Cross : Ring;
  return <span className={clsx("inline-flex items-center gap-1 whitespace-nowrap", verdict === "pass" ? "text-good" : verdict ? "text-bad" : "text-idle")}><Icon className="size-3.5 shrink-0" />{verdict ? t(`verdict.${verdict}`) : t("loop.gate_not_run")}</span>;
}
