import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { MergePreview } from "../api/types";
import { plain } from "../feed/ansi";
import { serverWords } from "../i18n/server";
import type { Target } from "../loops/actions";
import { Check, Clock, Cross, Right, Warn } from "../ui/icons";
import { Button, Field, Loading, Problem } from "../ui/primitives";
import { Size } from "./DiffStat";

/** What a merge would bring, where it goes, and what keeps it from being made. */
export default function MergeFacts({ loop, preview, error, pending, into, onInto, onFix }: { loop: Target; preview: MergePreview | undefined; error: unknown; pending: boolean; into: string; onInto: (into: string) => void; onFix: (() => void) | undefined }) {
  const { t } = useTranslation();
  return (
    <>
      {pending ? <Loading lines={3} /> : preview ? <Facts preview={preview} onFix={onFix} /> : error ? <Problem error={error} /> : null}
      <Field label={t("merge.into")}><input className="field font-mono" placeholder={preview?.into ?? loop.branch ?? ""} value={into} onChange={(event) => onInto(event.target.value)} /></Field>
    </>
  );
}

function Facts({ preview, onFix }: { preview: MergePreview; onFix: (() => void) | undefined }) {
  const { t } = useTranslation();
  const { branch, commits, behind, conflicts, in_the_way: inTheWay, gates } = preview;
  return (
    <section data-merge-preview aria-live="polite" aria-label={t("merge.preview")} className="divide-y divide-line rounded border border-line text-sm">
      <p className="bg-sunken px-2.5 py-2 break-words"><code>{branch}</code> <Right className="inline size-3.5 align-[-2px]" label={t("diff.to")} /> <code>{preview.into}</code></p>
      {commits === 0 ? <Row icon={<Check className="text-good" />}>{t("merge.nothing")}</Row> : (
        <>
          <Row icon={<Right className="text-faint" />}><span data-merge-size>{t("merge.commits", { count: commits })} · {t("diff.files", { count: preview.files })} · <Size added={preview.added} removed={preview.removed} /></span>{behind > 0 ? <span className="block text-soft">{t("merge.behind", { count: behind, target: preview.into })}</span> : null}</Row>
          {conflicts.length === 0 ? <Row icon={<Check className="text-good" />}>{t("merge.no_conflicts")}</Row> : (
            <Row icon={<Cross className="text-bad" />}>
              <span className="font-medium text-bad">{t("merge.would_conflict", { count: conflicts.length })}</span>
              <Names files={conflicts} />
              {onFix ? <Button small className="mt-1.5" onClick={onFix}>{t("merge.let_fix")}</Button> : <span className="mt-1 block text-soft">{t("merge.conflicts_hint")}</span>}
            </Row>
          )}
          {inTheWay.length > 0 ? <Row icon={<Cross className="text-bad" />}><span className="font-medium text-bad">{t("merge.in_the_way", { count: inTheWay.length })}</span><Names files={inTheWay} /><code className="mt-1 block text-xs break-all text-soft">{preview.checkout}</code></Row> : null}
          {gates.length === 0 ? <Row icon={<Warn className="text-wait" />}>{t("merge.no_gates")}</Row>
            : preview.gates_passed ? <Row icon={<Check className="text-good" />}>{t("merge.gates_passed")}<Names files={gates} /></Row>
            : conflicts.length === 0 ? <Row icon={<Clock className="text-wait" />}>{t("merge.gates_first", { count: gates.length })}<Names files={gates} /></Row> : null}
          {preview.warnings.map((warning) => <Row key={warning} icon={<Warn className="text-wait" />}>{serverWords(warning)}</Row>)}
        </>
      )}
    </section>
  );
}

function Row({ icon, children }: { icon: ReactNode; children: ReactNode }) {
  return <div className="flex items-start gap-2 px-2.5 py-1.5"><span className="mt-0.5 shrink-0 [&_svg]:size-4">{icon}</span><div className="min-w-0 grow">{children}</div></div>;
}

const SHOWN = 12;

function Names({ files }: { files: readonly string[] }) {
  const { t } = useTranslation();
  return (
    <ul className="text-xs">
      {files.slice(0, SHOWN).map((file) => <li key={file}><code className="[overflow-wrap:anywhere]">{plain(file)}</code></li>)}
      {files.length > SHOWN ? <li className="text-soft">{t("overview.more_files", { count: files.length - SHOWN })}</li> : null}
    </ul>
  );
}
