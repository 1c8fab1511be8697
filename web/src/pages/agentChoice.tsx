import { useQuery } from "@tanstack/react-query";
import { get, getExact, query } from "../api/client";
import type { AgentReport, SettingsView } from "../api/types";

function useAgents(project: string) {
  return useQuery({ queryKey: ["agents", project], queryFn: ({ signal }) => get<AgentReport[]>(`/api/agents${query({ project })}`, signal), staleTime: 60_000 });
}

/** The agents that can be chosen in a project. */
export function useInstalledAgents(project: string): AgentReport[] {
  return (useAgents(project).data ?? []).filter((agent) => agent.installed);
}

/** What the settings name as the agent, once they and the agents are known. */
export function useUsualAgent(project: string): { known: boolean; set: unknown } {
  const agents = useAgents(project);
  const settings = useQuery({ queryKey: ["settings", project], queryFn: ({ signal }) => getExact<SettingsView>(`/api/settings${query({ project })}`, signal) });
  return { known: Boolean(agents.data && settings.data), set: settings.data?.settings.find((row) => row.key === "agent")?.value };
}

export function AgentOptions({ agents }: { agents: AgentReport[] }) {
  return agents.map((agent) => <option key={agent.name} value={agent.name}>{agent.display_name ?? agent.name}{agent.version ? ` · ${agent.version}` : ""}</option>);
}
