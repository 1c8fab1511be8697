import { useQuery } from "@tanstack/react-query";
import { get, query } from "../api/client";
import type { AgentReport } from "../api/types";

/** The agents that can be chosen in a project. */
export function useInstalledAgents(project: string): AgentReport[] {
  const agents = useQuery({ queryKey: ["agents", project], queryFn: ({ signal }) => get<AgentReport[]>(`/api/agents${query({ project })}`, signal), staleTime: 60_000 });
  return (agents.data ?? []).filter((agent) => agent.installed);
}

export function AgentOptions({ agents }: { agents: AgentReport[] }) {
  return agents.map((agent) => <option key={agent.name} value={agent.name}>{agent.display_name ?? agent.name}{agent.version ? ` · ${agent.version}` : ""}</option>);
}
