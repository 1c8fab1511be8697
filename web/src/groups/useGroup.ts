import { useQuery } from "@tanstack/react-query";
import { get, query } from "../api/client";
import type { FoundGroup } from "../api/types";

/** Everything that is asked about groups; `useLiveLoops` says when one changed. */
export const GROUPS = ["groups"] as const;

/** A group by its ID, or by its name if only one has it. */
export function useGroup(name: string) {
  return useQuery({ queryKey: [...GROUPS, "one", name], queryFn: ({ signal }) => get<FoundGroup>(`/api/groups/find${query({ name })}`, signal) });
}
