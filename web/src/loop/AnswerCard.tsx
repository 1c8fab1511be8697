import { useState } from "react";
import { useTranslation } from "react-i18next";
import { send } from "../api/client";
import type { LoopView } from "../api/types";
import { moment } from "../lib/format";
import { Countdown } from "../loops/parts";
import { Message } from "../ui/icons";
import { Button } from "../ui/primitives";

type Question = LoopView["questions"][number];

/** A question of the agent that somebody can still answer. */
export function AnswerCard({ loop, question }: { loop: LoopView; question: Question }) {
  const { t, i18n } = useTranslation();
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const answer = async () => {
    setBusy(true);
    setProblem("");
    try {
      await send("POST", `/api/loops/${loop.id}/answer`, { text, question: question.id });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <section data-answer-card aria-label={t("answer.title")} className="card border-ask">
      <header className="flex flex-wrap items-center gap-x-2 border-b border-line bg-ask-soft px-3 py-2 text-ask"><Message /><h2>{t("answer.title")}</h2>{question.until ? <span className="text-sm">{t("answer.until", { time: moment(question.until, i18n.language) })} <Countdown until={question.until} /></span> : null}</header>
      <form className="space-y-2 px-3 py-3" onSubmit={(event) => { event.preventDefault(); void answer(); }}>
        <p className="break-words whitespace-pre-wrap">{question.question}</p>
        <p className="text-sm text-soft">{question.default ? t("answer.default", { default: question.default }) : t("answer.no_default")}</p>
        <textarea aria-label={t("answer.yours")} className="field w-full" rows={2} value={text} onChange={(event) => setText(event.target.value)} />
        {problem ? <p role="alert" className="text-sm text-bad">{problem}</p> : null}
        <Button type="submit" tone="accent" disabled={busy || !text.trim()}>{t("answer.send")}</Button>
      </form>
    </section>
  );
}
