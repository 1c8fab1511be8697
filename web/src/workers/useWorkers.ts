import { useQuery } from "@tanstack/react-query";
import { get } from "../api/client";
import type { WorkerView } from "../api/types";

/** A machine of a fleet says nothing when it changes: it is asked for. */
const EVERY_MS = 5_000;
export const WORKERS = ["workers"] as const;

/** The machines of the fleet that this server belongs to; none on a single machine. */
export function useWorkers(watch = false) {
  return useQuery({ queryKey: WORKERS, queryFn: ({ signal }) => get<WorkerView[]>("/api/workers", signal), staleTime: 60_000, retry: false, refetchInterval: watch ? EVERY_MS : false });
}
