import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { get, query } from "../api/client";
import type { DiffView, FileDiff, LoopView } from "../api/types";
import { commit } from "../lib/format";
import { DiffLines } from "../ui/DiffLines";
import { Branch, Right } from "../ui/icons";
import { Empty, Loading, Problem } from "../ui/primitives";
import type { Show } from "./LoopPage";

const LETTER: Record<string, string> = { added: "A", modified: "M", deleted: "D", renamed: "R", copied: "C" };

export default function DiffTab({ loop, iteration, onShow }: { loop: LoopView; iteration: number | undefined; onShow: Show }) {
  const { t } = useTranslation();
  const diff = useQuery({
    queryKey: ["loop", loop.id, "diff", iteration ?? "all"],
    queryFn: ({ signal }) => get<DiffView>(`/api/loops/${encodeURIComponent(loop.id)}/diff${query({ iteration })}`, signal),
    staleTime: 10_000,
  });
  const numbers = loop.history.map((record) => record.iteration);
  return (
    <div className="mx-auto max-w-6xl px-2 py-3 sm:px-4">
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <select aria-label={t("diff.which")} className="field w-auto" value={iteration ?? ""} onChange={(event) => onShow("diff", event.target.value ? { iteration: Number(event.target.value) } : {})}>
          <option value="">{t("diff.total")}</option>
          {numbers.map((number) => <option key={number} value={number}>{t("feed.iteration", { number })}</option>)}
        </select>
        {diff.data ? <span className="figures text-xs text-soft"><code>{commit(diff.data.from)}</code> <Right className="inline size-3 align-[-1px]" label={t("diff.to")} /> <code>{commit(diff.data.to)}</code> · {t("diff.files", { count: diff.data.files.length + diff.data.files_left_out })}</span> : null}
      </div>
      {diff.isPending ? <Loading /> : null}
      {diff.error && !diff.data ? <Problem error={diff.error} onRetry={() => void diff.refetch()} /> : null}
      {diff.data?.files.length === 0 ? <Empty icon={<Branch />} title={t("diff.none")} /> : null}
      {diff.data?.files.map((file) => <FileView key={file.path} file={file} open={(diff.data?.files.length ?? 0) <= 12} />)}
      {diff.data && diff.data.files_left_out > 0 ? <p className="text-sm text-soft">{t("diff.left_out", { count: diff.data.files_left_out })}</p> : null}
    </div>
  );
}

function FileView({ file, open }: { file: FileDiff; open: boolean }) {
  const { t } = useTranslation();
  const [shown, setShown] = useState(open);
  return (
    <details open={shown} onToggle={(event) => setShown(event.currentTarget.open)} className="card mb-2 overflow-hidden">
      <summary data-item className="flex flex-wrap items-center gap-2 bg-sunken px-3 py-1.5 text-sm">
        <span className="font-mono font-bold text-accent" title={file.status}>{LETTER[file.status] ?? "?"}</span>
        <span className="min-w-0 font-mono text-xs break-all">{file.old_path ? <>{file.old_path} <Right className="inline size-3 align-[-1px]" label={t("diff.to")} /> </> : null}{file.path}</span>
        <span className="figures ml-auto text-xs"><span className="text-good">+{file.added}</span> <span className="text-bad">−{file.removed}</span></span>
      </summary>
      {shown ? (file.binary ? <p className="px-3 py-2 text-sm text-soft">{t("diff.binary")}</p> : <DiffLines patch={file.patch} />) : null}
      {shown && file.cut ? <p className="px-3 py-2 text-xs text-wait">{t("diff.cut")}</p> : null}
    </details>
  );
}
