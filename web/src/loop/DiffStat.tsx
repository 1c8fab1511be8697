import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { get, query } from "../api/client";
import type { DiffView, IterationSize, LoopView } from "../api/types";
import { Loading } from "../ui/primitives";

/** Up to an iteration or the latest; from the one before, the base, an iteration or the merge target. */
export function useDiff(loop: Pick<LoopView, "id">, iteration?: number, since?: string) {
  return useQuery({
    queryKey: ["loop", loop.id, "diff", iteration ?? "all", since ?? ""],
    queryFn: ({ signal }) => get<DiffView>(`/api/loops/${encodeURIComponent(loop.id)}/diff${query({ iteration, ...(since === "target" ? { target: "true" } : { since }) })}`, signal),
    staleTime: 10_000,
    retry: false,
  });
}

/** How much each iteration changed; a checkpoint is what changes it, not each event. */
export function useSizes(loop: Pick<LoopView, "id" | "history"> | undefined) {
  const checkpoints = loop?.history.map((record) => record.checkpoint.commit ?? "").join(" ") ?? "";
  return useQuery({
    queryKey: ["sizes", loop?.id, checkpoints],
    enabled: checkpoints !== "",
    queryFn: ({ signal }) => get<IterationSize[]>(`/api/loops/${encodeURIComponent(loop?.id ?? "")}/sizes`, signal),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}

export function totalOf(diff: DiffView): { files: number; added: number; removed: number } {
  return {
    files: diff.files.length + diff.files_left_out,
    added: diff.files.reduce((sum, file) => sum + file.added, 0),
    removed: diff.files.reduce((sum, file) => sum + file.removed, 0),
  };
}

export function Size({ added, removed }: { added: number; removed: number }) {
  return <span className="figures whitespace-nowrap"><span className="text-good">+{added}</span> <span className="text-bad">−{removed}</span></span>;
}

const SHOWN = 6;

/** What the loop has changed since its base, largest files first. */
export function DiffStat({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const diff = useDiff(loop);
  if (diff.isPending) return <Loading lines={2} />;
  if (!diff.data || diff.data.files.length === 0) return <p className="text-sm text-soft">{t("diff.none")}</p>;
  const total = totalOf(diff.data);
  const files = diff.data.files.toSorted((one, other) => other.added + other.removed - one.added - one.removed);
  return (
    <div data-diffstat className="text-xs">
      <p className="mb-1 text-sm">{t("diff.files", { count: total.files })} · <Size added={total.added} removed={total.removed} /></p>
      <ul className="space-y-0.5">
        {files.slice(0, SHOWN).map((file) => <li key={file.path} className="flex gap-2"><code className="min-w-0 truncate" title={file.path}>{file.path}</code><span className="ml-auto"><Size added={file.added} removed={file.removed} /></span></li>)}
      </ul>
      {total.files > SHOWN ? <p className="mt-0.5 text-soft">{t("overview.more_files", { count: total.files - SHOWN })}</p> : null}
    </div>
  );
}
