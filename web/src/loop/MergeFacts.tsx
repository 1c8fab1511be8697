import { useTranslation } from "react-i18next";
import type { Target } from "../loops/actions";
import { Right } from "../ui/icons";
import { Field } from "../ui/primitives";
import { Size, totalOf, useDiff } from "./DiffStat";
import { useTimeline } from "./IterationBody";
import { homeBranch } from "./story";

/** What a merge would bring, and where it goes. */
export default function MergeFacts({ loop, into, onInto }: { loop: Target; into: string; onInto: (into: string) => void }) {
  const { t } = useTranslation();
  const home = homeBranch(useTimeline(loop).data);
  const diff = useDiff(loop);
  const total = diff.data ? totalOf(diff.data) : null;
  return (
    <>
      <p data-merge-size className="rounded bg-sunken px-2.5 py-2 text-sm break-words">
        <code>{loop.branch ?? loop.name}</code> <Right className="inline size-3.5 align-[-2px]" label={t("diff.to")} /> <code>{into.trim() || home || t("merge.home")}</code>
        {total ? <span className="block text-soft">{t("diff.files", { count: total.files })} · <Size added={total.added} removed={total.removed} /></span> : null}
      </p>
      <Field label={t("merge.into")} hint={t("merge.into_hint")}><input className="field font-mono" placeholder={home ?? ""} value={into} onChange={(event) => onInto(event.target.value)} /></Field>
    </>
  );
}
