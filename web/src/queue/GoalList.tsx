import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { send } from "../api/client";
import type { GoalView, QueueView } from "../api/types";
import { GROUPS } from "../groups/useGroup";
import { baseName } from "../lib/format";
import { say, sayProblem } from "../lib/toast";
import { useLoops } from "../loops/useLoops";
import { Check, Down, Trash, Up } from "../ui/icons";
import { IconButton } from "../ui/primitives";
import { STATUSES, StatusBadge } from "../ui/status";
import { canMove, canRemove, moveBody, whyWords } from "./queue";

/** The goals in the order in which they start. Those that wait are dragged to their place, or moved with their buttons. */
export function GoalList({ queue, goals }: { queue: QueueView; goals: readonly GoalView[] }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [dragged, drag] = useState<number | null>(null);
  const loops = useLoops().data;
  const started = useMemo(() => new Set(loops?.map((loop) => loop.id)), [loops]);
  // Also those of other projects, which are not shown.
  const order = queue.goals.filter((goal) => canMove(goal, started)).map((goal) => goal.number);
  const refresh = { onError: (error: unknown) => sayProblem(error, t), onSettled: () => void queries.invalidateQueries({ queryKey: GROUPS }) };
  const move = useMutation({ mutationFn: ({ number, body }: { number: number; body: object }) => send("POST", `/api/queue/${number}/move`, body), ...refresh });
  const remove = useMutation({ mutationFn: (goal: GoalView) => send("POST", `/api/queue/${goal.number}/remove`), onSuccess: (_, goal) => say(t("queue.removed", { number: goal.number })), ...refresh });
  const put = (number: number, onto: number) => {
    const body = moveBody(order, number, onto);
    if (body) move.mutate({ number, body });
  };
  const movable = goals.filter((goal) => canMove(goal, started)).map((goal) => goal.number);
  return (
    <ol data-goals className="space-y-1.5">
      {goals.map((goal) => {
        const at = movable.indexOf(goal.number);
        return <Goal key={goal.number} goal={goal} started={started} dragged={dragged} onDrag={drag} onDrop={(number) => put(number, goal.number)} earlier={at > 0 ? movable[at - 1] : undefined} later={at >= 0 ? movable[at + 1] : undefined} onPut={(onto) => put(goal.number, onto)} onRemove={() => remove.mutate(goal)} />;
      })}
    </ol>
  );
}

interface GoalProps {
  goal: GoalView;
  started: ReadonlySet<string>;
  dragged: number | null;
  onDrag: (number: number | null) => void;
  onDrop: (number: number) => void;
  earlier: number | undefined;
  later: number | undefined;
  onPut: (onto: number) => void;
  onRemove: () => void;
}

function Goal({ goal, started, dragged, onDrag, onDrop, earlier, later, onPut, onRemove }: GoalProps) {
  const { t, i18n } = useTranslation();
  const [over, setOver] = useState(false);
  const movable = canMove(goal, started);
  const takes = movable && dragged !== null && dragged !== goal.number;
  const why = whyWords(goal, t, i18n.language);
  const known = (STATUSES as readonly string[]).includes(goal.status) && !movable;
  return (
    <li
      data-item data-goal={goal.number} data-status={goal.status} tabIndex={-1} draggable={movable} className={clsx("card flex items-start gap-3 px-3 py-2", movable && "cursor-grab", dragged === goal.number && "opacity-50", takes && over && "ring-2 ring-accent")}
      onDragStart={(event) => { event.dataTransfer.setData("text/plain", String(goal.number)); event.dataTransfer.effectAllowed = "move"; onDrag(goal.number); }}
      onDragEnd={() => onDrag(null)}
      onDragOver={(event) => { if (takes) { event.preventDefault(); setOver(true); } }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => { event.preventDefault(); setOver(false); if (takes) onDrop(dragged); }}
    >
      <span className="figures w-8 shrink-0 text-right text-sm text-faint">#{goal.number}</span>
      <div className="min-w-0 grow">
        <p className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5">
          {known ? <span className="self-center"><StatusBadge status={goal.status} outcome={goal.verified ? "verified" : undefined} /></span> : <span className={clsx("text-xs font-medium", goal.status === "failed" || goal.status === "blocked" ? "text-bad" : "text-wait")}>{t(`queue.status_${goal.status as "waiting"}`, { defaultValue: goal.status })}</span>}
          {known && goal.name ? <Link to="/loops/$id" params={{ id: goal.id }} className="font-medium break-all text-accent underline">{goal.name}</Link> : goal.name ? <span className="font-medium break-all">{goal.name}</span> : null}
          <span className="text-xs text-faint">{baseName(goal.project)} · {goal.account}</span>
          {goal.after.length > 0 ? <span className="text-xs text-soft">{t("queue.after", { numbers: goal.after.map((number) => `#${number}`).join(", ") })}</span> : null}
        </p>
        <p className="line-clamp-3 text-sm break-words">{goal.goal}</p>
        {why ? <p data-why className={clsx("text-xs break-words", goal.failed || goal.status === "blocked" ? "text-bad" : "text-soft")}>{why}</p> : goal.verified ? <p className="flex items-center gap-1 text-xs text-good"><Check className="size-3" />{t(goal.merged ? "completed.merged" : "completed.verified")}</p> : null}
      </div>
      <span className="flex shrink-0">
        {movable ? <><IconButton small label={t("queue.earlier", { number: goal.number })} disabled={earlier === undefined} onClick={() => earlier !== undefined && onPut(earlier)}><Up className="size-3.5" /></IconButton><IconButton small label={t("queue.later", { number: goal.number })} disabled={later === undefined} onClick={() => later !== undefined && onPut(later)}><Down className="size-3.5" /></IconButton></> : null}
        {canRemove(goal, started) ? <IconButton small label={t("queue.remove", { number: goal.number })} onClick={onRemove}><Trash className="size-3.5" /></IconButton> : null}
      </span>
    </li>
  );
}
