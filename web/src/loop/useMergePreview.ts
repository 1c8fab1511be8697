import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { get, query } from "../api/client";
import type { MergePreview } from "../api/types";

/** Somebody who types a branch is asked about when the name stands still. */
const TYPING_MS = 300;

function useSettled(text: string): string {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => settle(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** What a merge would do, computed by the server without merging. */
export function useMergePreview(id: string, typed: string, squash: boolean, enabled: boolean) {
  const into = useSettled(typed.trim());
  const preview = useQuery({
    queryKey: ["loop", id, "merge", into, squash],
    queryFn: ({ signal }) => get<MergePreview>(`/api/loops/${encodeURIComponent(id)}/merge${query({ ...(into ? { into } : {}), ...(squash ? { squash: "true" } : {}) })}`, signal),
    enabled,
    // The target moves without us.
    staleTime: 0,
    retry: false,
  });
  return { ...preview, isPending: preview.isPending || into !== typed.trim() };
}

/** Whether a merge is worth asking for: nothing known speaks against it. */
export const mayMerge = (preview: MergePreview | undefined) => preview !== undefined && preview.commits > 0 && preview.conflicts.length === 0 && preview.in_the_way.length === 0;
