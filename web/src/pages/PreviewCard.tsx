import clsx from "clsx";
import { useTranslation } from "react-i18next";
import type { Preview } from "../api/types";
import { serverWords } from "../i18n/server";
import { Warn } from "../ui/icons";
import { Problem } from "../ui/primitives";
import { TrustBox } from "./TrustBox";

/** The server says it for the command line; the form offers what was found beside the field. */
const SUGGESTED = /^no gates; suggested for this project: /;

/** What will happen, before it does. */
export function PreviewCard({ preview, error, blocked, hasGoal, busy, trusted, onTrust }: { preview: Preview | undefined; error: unknown; blocked: boolean; hasGoal: boolean; busy: boolean; trusted: boolean; onTrust: (on: boolean) => void }) {
  const { t } = useTranslation();
  return (
    <aside aria-label={t("new.preview")} className="card h-fit lg:sticky lg:top-4">
      <h2 className="border-b border-line px-4 py-2.5">{t("new.preview")}</h2>
      {error ? <Problem error={error} /> : null}
      {!preview && !error ? <p className="px-4 py-6 text-sm text-soft">{t(blocked ? "new.preview_blocked" : hasGoal ? "new.preview_waits" : "new.preview_empty")}</p> : null}
      {preview && !error ? (
        <div className={clsx("transition-opacity", busy && "opacity-70")}>
          <dl className="grid grid-cols-[4.5rem_minmax(0,1fr)] gap-x-3 gap-y-1.5 px-4 py-3 text-sm">
            <dt className="text-faint">{t("new.name")}</dt>
            <dd className="font-mono text-xs leading-5 break-all">{preview.name}</dd>
            {preview.lines.map((line, index) => (
              <div key={index} className="contents">
                <dt className="text-faint first-letter:uppercase">{t(`preview.${line.label as "goal"}`, { defaultValue: line.label })}</dt>
                <dd className="break-words">{line.label === "goal" ? line.text : serverWords(line.text)}</dd>
              </div>
            ))}
          </dl>
          {preview.notes.length > 0 ? (
            <ul className="space-y-1 border-t border-line px-4 py-2.5 text-xs text-wait">
              {preview.notes.map((note, index) => <li key={index} className="flex gap-1.5 break-words"><Warn className="mt-px size-3.5 shrink-0" /><span className="min-w-0">{SUGGESTED.test(note) ? t("preview.suggested") : serverWords(note)}</span></li>)}
            </ul>
          ) : null}
          {preview.trust ? <TrustBox demands={preview.trust} trusted={trusted} onTrust={onTrust} /> : null}
        </div>
      ) : null}
    </aside>
  );
}
