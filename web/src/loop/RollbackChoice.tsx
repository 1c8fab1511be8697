import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { get } from "../api/client";
import type { LoopView } from "../api/types";
import type { Target } from "../loops/actions";
import { Button, Loading } from "../ui/primitives";
import { useTimeline } from "./IterationBody";
import { IterationStrip } from "./IterationStrip";
import { Size, totalOf, useDiff, useSizes } from "./DiffStat";
import { cellsOf } from "./story";

/** The iteration to go back to, chosen from the strip, and what would go. */
export default function RollbackChoice({ loop, to, onChoose }: { loop: Target; to: number | null; onChoose: (to: number) => void }) {
  const { t } = useTranslation();
  const timeline = useTimeline(loop);
  const view = useQuery({ queryKey: ["loop", loop.id, "status"], queryFn: ({ signal }) => get<LoopView>(`/api/loops/${encodeURIComponent(loop.id)}`, signal) });
  const sizes = useSizes(view.data);
  if (!timeline.data || !view.data) return <Loading lines={3} />;
  const cells = cellsOf(view.data, timeline.data, sizes.data);
  const gone = to === null ? [] : cells.filter((cell) => cell.iteration > to && cell.verdict !== "undone");
  const last = cells.at(-1)?.iteration;
  return (
    <div className="space-y-2">
      <Button small aria-pressed={to === 0} tone={to === 0 ? "accent" : "plain"} onClick={() => onChoose(0)}>{t("rollback.base")}</Button>
      <IterationStrip cells={cells} chosen={to ?? undefined} label={t("ask.rollback_to")} onChoose={onChoose} disabled={(cell) => cell.verdict === "undone" || cell.iteration === last} />
      <p data-rollback aria-live="polite" className="text-sm">{to === null ? t("rollback.choose") : gone.length === 0 ? t("rollback.none") : t("rollback.gone", { count: gone.length, from: gone[0]?.iteration, to: gone.at(-1)?.iteration })}</p>
      {to !== null && gone.length > 0 ? <Gone loop={loop} to={to} /> : null}
    </div>
  );
}

const SHOWN = 8;

/** The files that would not be as they are now, and by how much. */
function Gone({ loop, to }: { loop: Target; to: number }) {
  const { t } = useTranslation();
  const diff = useDiff(loop, undefined, String(to));
  if (diff.isPending) return <Loading lines={2} />;
  if (!diff.data || diff.data.files.length === 0) return null;
  const total = totalOf(diff.data);
  return (
    <div data-gone className="rounded border border-line px-2.5 py-1.5 text-xs">
      <p className="mb-1">{t("rollback.files", { count: total.files })} <Size added={total.added} removed={total.removed} /></p>
      <ul className="space-y-0.5">
        {diff.data.files.slice(0, SHOWN).map((file) => <li key={file.path} className="flex gap-2"><code className="min-w-0 truncate" title={file.path}>{file.path}</code><span className="ml-auto"><Size added={file.added} removed={file.removed} /></span></li>)}
      </ul>
      {total.files > SHOWN ? <p className="mt-0.5 text-soft">{t("overview.more_files", { count: total.files - SHOWN })}</p> : null}
    </div>
  );
}
