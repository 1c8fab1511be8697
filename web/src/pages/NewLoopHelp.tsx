import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { get, query, send } from "../api/client";
import type { AgentReport, InitReport, LoopList, RecipeRow } from "../api/types";
import { Plus } from "../ui/icons";
import { Button } from "../ui/primitives";
import { formOf, withLine, type LoopForm } from "./newLoop";

/** What the project's files suggest: commands that test it, paths that an agent should leave alone. */
function useFound(project: string) {
  return useQuery({ queryKey: ["found", project], enabled: project !== "", retry: false, staleTime: 60_000, queryFn: () => send<InitReport>("POST", "/api/init", { project }) }).data?.found;
}

function Lines({ lines, text, onAdd }: { lines: readonly { line: string; file: string }[]; text: string; onAdd: (text: string) => void }) {
  const { t } = useTranslation();
  const left = lines.filter(({ line }) => !text.split("\n").some((each) => each.trim() === line));
  if (left.length === 0) return null;
  return (
    <div data-found className="mt-1 flex flex-wrap items-center gap-1.5 text-xs text-soft">
      {t("new.found")}
      {left.map(({ line, file }) => <Button key={line} small title={t("new.found_in", { file })} onClick={() => onAdd(withLine(text, line))}><Plus className="size-3" /><code>{line}</code></Button>)}
    </div>
  );
}

export function FoundGates({ project, text, onAdd }: { project: string; text: string; onAdd: (text: string) => void }) {
  const found = useFound(project);
  return found ? <Lines lines={[...found.gates, ...found.more_gates]} text={text} onAdd={onAdd} /> : null;
}

export function FoundProtect({ project, text, onAdd }: { project: string; text: string; onAdd: (text: string) => void }) {
  const found = useFound(project);
  return found ? <Lines lines={[...found.tests, ...found.protect]} text={text} onAdd={onAdd} /> : null;
}

const OFFERED = 20;

/** A loop of before is the form's beginning. */
export function EarlierLoop({ project, agents, recipes, onChoose }: { project: string; agents: readonly AgentReport[]; recipes: readonly RecipeRow[]; onChoose: (part: Partial<LoopForm>) => void }) {
  const { t } = useTranslation();
  const list = useQuery({ queryKey: ["earlier", project], enabled: project !== "", staleTime: 30_000, queryFn: ({ signal }) => get<LoopList>(`/api/loops${query({ project, limit: OFFERED })}`, signal) });
  const loops = list.data?.loops.filter((loop) => loop.review?.kind !== "acceptance") ?? [];
  if (loops.length === 0) return null;
  return (
    <select aria-label={t("new.template")} className="field w-auto max-w-full" value="" onChange={(event) => { const loop = loops.find((each) => each.id === event.target.value); if (loop) onChoose(formOf(loop, agents, recipes)); }}>
      <option value="">{t("new.template")}</option>
      {loops.map((loop) => <option key={loop.id} value={loop.id}>{loop.name}: {loop.goal.split("\n")[0]?.slice(0, 60)}</option>)}
    </select>
  );
}
