import { Link } from "@tanstack/react-router";
import { Suspense, lazy, useState } from "react";
import { useTranslation } from "react-i18next";
import type { LoopSummary } from "../api/types";
import { MOST, canCompare } from "../compare/facts";
import { say } from "../lib/toast";
import { Columns, Cross, Pause, Play, Stop, Trash } from "../ui/icons";
import { Button, IconButton } from "../ui/primitives";
import { BULK, takes, useBulk, type BulkVerb } from "./bulk";

const ICON = { pause: Pause, resume: Play, stop: Stop, clean: Trash } as const;
const BulkDialog = lazy(() => import("./BulkDialog"));

/** What can be done with the loops that are marked. */
export function BulkBar({ marked, onClear }: { marked: readonly LoopSummary[]; onClear: () => void }) {
  const { t } = useTranslation();
  const [asked, ask] = useState<BulkVerb | null>(null);
  const { run, left } = useBulk();
  const chosen = asked ? marked.filter((loop) => takes(loop, asked)) : [];
  const act = async () => {
    if (!asked) return;
    const report = await run(chosen, asked);
    ask(null);
    onClear();
    if (report.done > 0) say(t(`bulk.done_${asked}`, { count: report.done }));
    for (const { name, why } of report.failed.slice(0, 3)) say(t("bulk.failed", { name }), { bad: true, hint: why });
  };
  return (
    <div role="toolbar" aria-label={t("bulk.label")} data-bulk className="mx-2 mb-2 flex flex-wrap items-center gap-2 rounded-lg border border-accent bg-accent-soft px-3 py-2 sm:mx-4">
      <span aria-live="polite" className="text-sm font-medium">{t("bulk.marked", { count: marked.length })}</span>
      {BULK.map((verb) => {
        const Icon = ICON[verb];
        const count = marked.filter((loop) => takes(loop, verb)).length;
        return <Button key={verb} small disabled={count === 0} tone={verb === "stop" ? "danger" : "plain"} onClick={() => ask(verb)}><Icon className="size-3.5" />{t(`bulk.${verb}`)} <span className="figures">{count}</span></Button>;
      })}
      {canCompare(marked) ? <Link to="/compare" search={{ loops: marked.map((loop) => loop.id).join(",") }} className="inline-flex min-h-7 items-center gap-1.5 rounded-md border border-line-strong bg-panel px-2 text-xs font-medium hover:bg-sunken"><Columns className="size-3.5" />{t("compare.action")} <span className="figures">{marked.length}</span></Link> : <Button small disabled title={t("compare.rule", { count: MOST })}><Columns className="size-3.5" />{t("compare.action")}</Button>}
      <IconButton label={t("bulk.clear")} className="ml-auto" onClick={onClear}><Cross /></IconButton>
      {asked ? (
        <Suspense fallback={null}><BulkDialog verb={asked} chosen={chosen} skipped={marked.length - chosen.length} left={left} onClose={() => ask(null)} onAct={() => void act()} /></Suspense>
      ) : null}
    </div>
  );
}
