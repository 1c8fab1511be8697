// What the server passes on as the command line prints it (`agents --json`, `doctor --json`, `milestone list --json`):
// JSON without a schema, so only what is shown is read, and each part may be missing.

import type { LoopView } from "./types";

export interface AgentReport {
  name: string;
  display_name?: string;
  program?: string;
  installed?: boolean;
  built_in?: boolean;
  path?: string | null;
  version?: string | null;
  known_good?: { from: string; below: string } | null;
  login?: string | null;
  problem?: string | null;
}

export interface DoctorReport {
  ok?: boolean;
  findings?: { what: string; state: "ok" | "warning" | "problem"; detail: string; fix?: string | null }[];
}

export interface MilestoneReport {
  id: string;
  title: string;
  file?: string;
  status: string;
  requires_human_review?: boolean;
  order?: number | null;
  features?: { id: string; text: string; acceptance?: string | null; done?: boolean }[];
  acceptance_criteria?: { text: string; done?: boolean }[];
  branch?: string;
  loop?: LoopView | null;
}
