import clsx from "clsx";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { clear } from "../lib/clear";
import { parsePatch, type DiffKind } from "../diff/patch";
import { Button } from "./primitives";

const LOOK: Record<DiffKind, string> = {
  hunk: "bg-accent-soft text-accent", add: "bg-add text-add-ink", remove: "bg-del text-del-ink", same: "text-ink", note: "text-faint",
};
const SIGN: Record<DiffKind, string> = { hunk: " ", add: "+", remove: "−", same: " ", note: " " };
const AT_ONCE = 600;
/** A minified file is one line; no browser lays out a megabyte in one. */
const LONGEST = 2_000;

/** A patch, line by line, as text. The sign is there for those who do not see the colour. */
export function DiffLines({ patch }: { patch: string }) {
  const { t } = useTranslation();
  const lines = useMemo(() => parsePatch(patch), [patch]);
  const [shown, setShown] = useState(AT_ONCE);
  return (
    <div className="overflow-x-auto">
      <table className="output w-full border-collapse">
        <tbody>
          {lines.slice(0, shown).map((line, index) => (
            <tr key={index} className={LOOK[line.kind]}>
              <td className="w-10 px-1 text-right align-top text-[11px] opacity-80 select-none max-sm:hidden">{line.before}</td>
              <td className="w-10 px-1 text-right align-top text-[11px] opacity-80 select-none">{line.after}</td>
              <td className="w-4 text-center align-top select-none">{SIGN[line.kind]}</td>
              <td className={clsx("pr-2", line.kind === "hunk" && "py-0.5")}>{clear(line.text.length > LONGEST ? `${line.text.slice(0, LONGEST)}…` : line.text) || " "}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {lines.length > shown ? (
        <div className="p-2"><Button small onClick={() => setShown(shown + 5_000)}>{t("diff.more", { count: lines.length - shown })}</Button></div>
      ) : null}
    </div>
  );
}
