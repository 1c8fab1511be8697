import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { getText } from "../api/client";
import type { LoopView } from "../api/types";
import { clear } from "../lib/clear";
import { bytes } from "../lib/format";
import { say } from "../lib/toast";
import { Message } from "../ui/icons";
import { Button, Empty, Loading, Problem } from "../ui/primitives";
import type { Show } from "./LoopPage";
import { TurnPicker, useTurns } from "./TurnPicker";

/** What the agent was sent; the button copies it byte for byte. */
export default function PromptsTab({ loop, turn, onShow }: { loop: LoopView; turn: string | undefined; onShow: Show }) {
  const { t } = useTranslation();
  const turns = useTurns(loop);
  const all = turns.data ?? [];
  const chosen = all.find((each) => each.turn === turn) ?? all.at(-1);
  const prompt = useQuery({
    queryKey: ["prompt", loop.id, chosen?.turn],
    enabled: chosen !== undefined,
    queryFn: ({ signal }) => getText(`/api/loops/${encodeURIComponent(loop.id)}/turns/${encodeURIComponent(chosen?.turn ?? "")}/prompt`, signal),
  });
  if (turns.error && !turns.data) return <Problem error={turns.error} onRetry={() => void turns.refetch()} />;
  if (!turns.data) return <Loading />;
  if (!chosen) return <Empty icon={<Message />} title={t("prompts.none")} />;
  return (
    <div className="mx-auto flex max-w-6xl flex-col gap-2 px-2 py-3 sm:px-4">
      <div className="flex flex-wrap items-center gap-3">
        <TurnPicker turns={all} value={chosen.turn} onChange={(next) => onShow("prompts", { turn: next })} />
        {chosen.prompt_bytes != null ? <span className="figures text-xs text-soft">{bytes(chosen.prompt_bytes)}</span> : null}
        <Button small disabled={!prompt.data} onClick={() => void navigator.clipboard.writeText(prompt.data ?? "").then(() => say(t("prompts.copied")))}>{t("action.copy")}</Button>
      </div>
      {prompt.isPending ? <Loading /> : null}
      {prompt.error ? <Problem error={prompt.error} onRetry={() => void prompt.refetch()} /> : null}
      {prompt.data !== undefined ? <pre tabIndex={0} aria-label={t("tab.prompts")} className="output card px-3 py-2">{clear(prompt.data)}</pre> : null}
    </div>
  );
}
