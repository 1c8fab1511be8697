import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { get } from "../api/client";
import type { LoopView } from "../api/types";
import type { Target } from "../loops/actions";
import { Button, Loading } from "../ui/primitives";
import { useTimeline } from "./IterationBody";
import { IterationStrip } from "./IterationStrip";
import { cellsOf } from "./story";

/** The iteration to go back to, chosen from the strip, and what would go. */
export default function RollbackChoice({ loop, to, onChoose }: { loop: Target; to: number | null; onChoose: (to: number) => void }) {
  const { t } = useTranslation();
  const timeline = useTimeline(loop);
  const view = useQuery({ queryKey: ["loop", loop.id, "status"], queryFn: ({ signal }) => get<LoopView>(`/api/loops/${encodeURIComponent(loop.id)}`, signal) });
  if (!timeline.data || !view.data) return <Loading lines={3} />;
  const cells = cellsOf(view.data, timeline.data);
  const gone = to === null ? [] : cells.filter((cell) => cell.iteration > to && cell.verdict !== "undone");
  const last = cells.at(-1)?.iteration;
  return (
    <div className="space-y-2">
      <Button small aria-pressed={to === 0} tone={to === 0 ? "accent" : "plain"} onClick={() => onChoose(0)}>{t("rollback.base")}</Button>
      <IterationStrip cells={cells} chosen={to ?? undefined} label={t("ask.rollback_to")} onChoose={onChoose} disabled={(cell) => cell.verdict === "undone" || cell.iteration === last} />
      <p data-rollback aria-live="polite" className="text-sm">{to === null ? t("rollback.choose") : gone.length === 0 ? t("rollback.none") : t("rollback.gone", { count: gone.length, from: gone[0]?.iteration, to: gone.at(-1)?.iteration })}</p>
    </div>
  );
}
