import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { getExact } from "../api/client";
import type { ProjectView, ServerView } from "../api/types";
import { remember, remembered } from "../lib/storage";

/** The projects that the server knows, and the one that this page is about. */
export function useProject() {
  const projects = useQuery({ queryKey: ["projects"], queryFn: ({ signal }) => getExact<ProjectView[]>("/api/projects", signal) });
  const server = useQuery({ queryKey: ["server"], queryFn: ({ signal }) => getExact<ServerView>("/api/server", signal) });
  const [chosen, choose] = useState<string | null>(() => new URLSearchParams(window.location.search).get("project") ?? remembered("project"));
  const paths = projects.data?.map((project) => project.path) ?? [];
  const known = chosen !== null && (paths.includes(chosen) || chosen === "");
  const project = known ? chosen : (server.data?.project ?? paths[0] ?? "");
  return {
    projects: projects.data ?? [],
    project,
    ready: projects.data !== undefined && server.data !== undefined,
    error: projects.error ?? server.error,
    server: server.data,
    choose: (path: string) => {
      remember("project", path);
      // A link to this page leads to the same project.
      const here = new URL(window.location.href);
      here.searchParams.set("project", path);
      window.history.replaceState(window.history.state, "", here);
      choose(path);
    },
  };
}
