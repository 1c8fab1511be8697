import clsx from "clsx";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { LoopView } from "../api/types";
import { Check, Clock, Cross, Warn } from "../ui/icons";
import { useMergePreview } from "./useMergePreview";

/** Whether it may be merged, before anybody asks: the dialog has the details. */
export function MergeLine({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const { data: preview, isPending } = useMergePreview(loop.id, "", false, true);
  if (isPending && !preview) return <p className="mt-1 text-xs text-faint">{t("merge.checking")}</p>;
  if (!preview || preview.commits === 0) return null;
  const { conflicts, in_the_way: inTheWay, gates, into } = preview;
  const stopped = conflicts.length > 0 || inTheWay.length > 0;
  return (
    <ul data-merge-line aria-label={t("merge.preview")} className="mt-1 flex flex-wrap gap-x-4 gap-y-0.5 text-xs text-soft">
      <Fact bad={stopped} icon={stopped ? <Cross className="text-bad" /> : <Check className="text-good" />}>{conflicts.length > 0 ? t("merge.would_conflict_with", { target: into, count: conflicts.length }) : inTheWay.length > 0 ? t("merge.in_the_way", { count: inTheWay.length }) : t("merge.no_conflicts_with", { target: into })}</Fact>
      {stopped ? null : gates.length === 0 ? <Fact icon={<Warn className="text-wait" />}>{t("merge.no_gates")}</Fact> : preview.gates_passed ? <Fact icon={<Check className="text-good" />}>{t("merge.gates_passed")}</Fact> : <Fact icon={<Clock className="text-wait" />}>{t("merge.gates_first", { count: gates.length })}</Fact>}
    </ul>
  );
}

function Fact({ icon, bad = false, children }: { icon: ReactNode; bad?: boolean; children: ReactNode }) {
  return <li className={clsx("flex items-start gap-1", bad && "font-medium text-bad")}><span className="mt-px shrink-0 [&_svg]:size-3.5">{icon}</span>{children}</li>;
}
