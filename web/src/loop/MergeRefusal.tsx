import { useTranslation } from "react-i18next";
import type { LoopView, RefusedMerge } from "../api/types";
import { plain } from "../feed/ansi";
import type { Verb } from "../loops/actions";
import { Cross, Merged, Play } from "../ui/icons";
import { Button } from "../ui/primitives";
import { canMerge } from "./merge";

/** Why the last merge was not made, and what can be done about it. */
export function MergeRefusal({ loop, refused, onAsk }: { loop: LoopView; refused: RefusedMerge; onAsk: (verb: Verb) => void }) {
  const { t } = useTranslation();
  const { target, why } = refused;
  return (
    <section data-merge-refused className="card border-l-4 border-l-bad px-3 py-2.5">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <h2 className="flex items-center gap-1.5 text-bad"><Merged className="size-4" />{t("merge.refused", { target })}</h2>
        <span className="ml-auto flex gap-1.5">
          {loop.outcome ? <Button small tone="accent" onClick={() => onAsk("continue")}><Play className="size-3" />{t("merge.let_fix")}</Button> : null}
          {canMerge(loop) ? <Button small onClick={() => onAsk("merge")}>{t("merge.again")}</Button> : null}
        </span>
      </div>
      {why.type === "gate" ? (
        <>
          <p className="mt-1 flex items-start gap-1 text-xs"><Cross className="mt-0.5 size-3.5 shrink-0 text-bad" /><code className="font-semibold [overflow-wrap:anywhere]">{plain(why.command)}</code> <span className="text-bad">{t("merge.failed_on_result")}</span></p>
          {why.output_tail.trim() ? <pre tabIndex={0} aria-label={t("overview.output_of", { command: why.command })} className="output mt-1 max-h-72 overflow-auto rounded border border-line bg-sunken px-2 py-1.5">{why.output_tail.trimEnd().split("\n").map(plain).join("\n")}</pre> : null}
        </>
      ) : (
        <>
          <p className="mt-1 text-sm">{t("merge.both_changed")}</p>
          <ul className="mt-1 text-xs">{why.files.map((file) => <li key={file}><code className="break-all">{plain(file)}</code></li>)}</ul>
        </>
      )}
    </section>
  );
}
