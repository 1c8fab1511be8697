import { useTranslation } from "react-i18next";
import type { Demand, Seen } from "../api/types";
import { Toggle } from "../ui/primitives";

/** The files that somebody is shown, as they are now. */
export const seenOf = (demands: Demand[]): Seen[] => demands.map(({ file, sha256 }) => ({ file, sha256 }));

/** A file that changed since it was agreed to has to be read, and agreed to, again. */
export const isAgreed = (agreed: Seen[] | null, shown: Seen[]) => agreed !== null && JSON.stringify(agreed) === JSON.stringify(shown);

/** What the project's own files would run, and whether that is agreed to. */
export function TrustBox({ demands, trusted, onTrust }: { demands: Demand[]; trusted: boolean; onTrust: (on: boolean) => void }) {
  const { t } = useTranslation();
  return (
    <div className="border-t border-ask bg-ask-soft px-4 py-3 text-sm">
      <p className="font-medium text-ask">{t("new.trust_title")}</p>
      <ul tabIndex={0} aria-label={t("new.trust_title")} className="my-2 max-h-48 space-y-1.5 overflow-auto rounded bg-panel p-2 text-xs">
        {demands.map((demand) => (
          <li key={demand.file}>
            <code className="font-semibold break-all">{demand.file}</code>
            <ul className="list-disc pl-4">{demand.runs.map((run, index) => <li key={index} className="break-words">{run}</li>)}</ul>
          </li>
        ))}
      </ul>
      <Toggle label={t("new.trust")} checked={trusted} onChange={onTrust} />
    </div>
  );
}
