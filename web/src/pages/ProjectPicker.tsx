import { useTranslation } from "react-i18next";
import type { ProjectView } from "../api/types";
import { baseName } from "../lib/format";

/** Its name, and where it is: two may have the same name. */
export const projectName = (path: string) => `${baseName(path)} — ${path}`;

export function ProjectPicker({ projects, value, onChange, none }: { projects: ProjectView[]; value: string; onChange: (path: string) => void; none?: string }) {
  const { t } = useTranslation();
  return (
    <select aria-label={t("loops.project")} className="field w-auto max-w-full" value={value} onChange={(event) => onChange(event.target.value)}>
      {none !== undefined ? <option value="">{none}</option> : null}
      {projects.map((project) => <option key={project.path} value={project.path}>{projectName(project.path)}</option>)}
    </select>
  );
}
