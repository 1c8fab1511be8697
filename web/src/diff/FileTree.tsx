import clsx from "clsx";
import { useTranslation } from "react-i18next";
import type { FileDiff } from "../api/types";
import { Size } from "../loop/DiffStat";
import { Eye, Message } from "../ui/icons";
import type { Notes } from "./notes";

type Known = "added" | "modified" | "deleted" | "renamed" | "copied";
const LETTER: Record<Known, { sign: string; look: string }> = {
  added: { sign: "A", look: "text-good" }, modified: { sign: "M", look: "text-accent" }, deleted: { sign: "D", look: "text-bad" }, renamed: { sign: "R", look: "text-ask" }, copied: { sign: "C", look: "text-ask" },
};

export function FileSign({ status }: { status: string }) {
  const { t } = useTranslation();
  const { sign, look } = LETTER[status as Known] ?? { sign: "?", look: "text-soft" };
  return <span title={status in LETTER ? t(`diff.status_${status as Known}`) : status} className={clsx("w-3 shrink-0 font-mono text-xs font-bold", look)}>{sign}</span>;
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/") + 1);

/** The files by folder, with what changed in each. A list to choose from where there is no room for a tree. */
export function FileTree({ files, notes, current, onGo }: { files: readonly FileDiff[]; notes: Notes; current: string | undefined; onGo: (path: string) => void }) {
  const { t } = useTranslation();
  const folders = new Map<string, FileDiff[]>();
  for (const file of files) folders.set(folderOf(file.path), [...(folders.get(folderOf(file.path)) ?? []), file]);
  return (
    <>
      <select aria-label={t("diff.jump")} className="field w-auto min-w-0 flex-1 lg:hidden" value={current ?? ""} onChange={(event) => onGo(event.target.value)}>
        {files.map((file) => <option key={file.path} value={file.path}>{file.path} (+{file.added} −{file.removed})</option>)}
      </select>
      <nav aria-label={t("diff.tree")} tabIndex={0} data-tree className="card min-h-0 grow overflow-auto p-1.5 max-lg:hidden">
        {[...folders].map(([folder, members]) => (
          <div key={folder} className="mb-1">
            {folder ? <p className="truncate px-1 font-mono text-[11px] text-faint" title={folder}>{folder}</p> : null}
            <ul>
              {members.map((file) => (
                <li key={file.path}>
                  <button type="button" aria-current={file.path === current ? "true" : undefined} title={file.path} onClick={() => onGo(file.path)} className={clsx("flex min-h-6 w-full items-center gap-1.5 rounded px-1 py-0.5 text-left text-xs hover:bg-sunken", file.path === current && "bg-accent-soft")}>
                    <FileSign status={file.status} /><span className="min-w-0 grow truncate font-mono">{file.path.slice(folder.length)}</span><Marks notes={notes.get(file.path)} /><Size added={file.added} removed={file.removed} />
                  </button>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
    </>
  );
}

/** What stands between its lines. */
function Marks({ notes }: { notes: ReturnType<Notes["get"]> }) {
  const { t } = useTranslation();
  const findings = notes?.filter((note) => note.type === "finding").length ?? 0;
  const comments = notes?.filter((note) => note.type === "comment").length ?? 0;
  return (
    <>
      {findings > 0 ? <span className="inline-flex items-center text-bad"><Eye className="size-3" label={t("overview.findings")} />{findings}</span> : null}
      {comments > 0 ? <span className="inline-flex items-center text-ask"><Message className="size-3" label={t("comment.label")} />{comments}</span> : null}
    </>
  );
}
