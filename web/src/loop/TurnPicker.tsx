import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { get } from "../api/client";
import type { LoopView, TurnView } from "../api/types";
import { useRole } from "./roles";

export function useTurns(loop: LoopView) {
  return useQuery({ queryKey: ["loop", loop.id, "turns"], queryFn: ({ signal }) => get<TurnView[]>(`/api/loops/${encodeURIComponent(loop.id)}/turns`, signal) });
}

export function TurnPicker({ turns, value, onChange }: { turns: TurnView[]; value: string; onChange: (turn: string) => void }) {
  const { t } = useTranslation();
  const role = useRole();
  return (
    <select aria-label={t("turns.which")} className="field w-auto max-w-full" value={value} onChange={(event) => onChange(event.target.value)}>
      {turns.map((turn) => (
        <option key={turn.turn} value={turn.turn}>
          {t("feed.iteration", { number: turn.iteration })} · {role(turn.role)}{turn.attempt > 1 ? ` · ${t("timeline.attempt", { number: turn.attempt })}` : ""}
        </option>
      ))}
    </select>
  );
}
