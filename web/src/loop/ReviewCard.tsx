import { useTranslation } from "react-i18next";
import { download } from "../api/client";
import type { LoopView, TurnView } from "../api/types";
import { duration, money, short } from "../lib/format";
import { sayProblem } from "../lib/toast";
import type { Verb } from "../loops/actions";
import { tokensOf } from "../loops/figures";
import { Check, Cross, Eye, Key } from "../ui/icons";
import { Button } from "../ui/primitives";
import type { Show } from "./LoopPage";
import { phaseWords } from "./phase";
import { Words } from "./Words";

/** What a person has to know to approve or reject; gates, size and findings are beside it. */
export function ReviewCard({ loop, turns, onShow, onAsk }: { loop: LoopView; turns: readonly TurnView[]; onShow: Show; onAsk: (verb: Verb) => void }) {
  const { t } = useTranslation();
  const last = turns.findLast((turn) => ["auditor", "acceptor"].includes(turn.role) && turn.last_words);
  const cost = loop.usage.cost_usd;
  // Git ignores them: they are in no diff and in no commit, but the agent may rely on them.
  const ignored = loop.history.at(-1)?.checkpoint.ignored_new ?? [];
  const facts = [
    t("review.iterations", { count: loop.iterations }),
    `${t("review.claims", { count: loop.claims.made })}, ${t("loop.refused", { count: loop.claims.refused })}`,
    cost == null ? t("loop.tokens", { tokens: short(tokensOf(loop.usage)) }) : money(cost),
    duration(loop.elapsed_ms),
  ];
  return (
    <section data-review-card aria-label={t("review.yours")} className="card border-ask">
      <header className="flex flex-wrap items-center gap-x-2 border-b border-line bg-ask-soft px-3 py-2 text-ask"><Eye /><h2>{t("review.yours")}</h2><span className="text-sm">{phaseWords(loop, t)}</span></header>
      <div className="space-y-3 px-3 py-3">
        <div><p className="text-xs text-faint">{t("new.goal")}</p><p className="break-words whitespace-pre-wrap">{loop.goal}</p></div>
        <p className="figures text-sm text-soft">{facts.join(" · ")}</p>
        {last?.last_words ? <div><p className="mb-1 text-xs text-faint">{t("review.said", { agent: loop.review?.reviewer ?? last.agent })}</p><Words text={last.last_words} /></div> : null}
        {loop.review?.completion_summary ? <div><p className="mb-1 text-xs text-faint">{t("review.summary")}</p><Words text={loop.review.completion_summary} /></div> : null}
        {(loop.review?.rejection_reasons ?? []).length > 0 ? <div><p className="text-xs text-faint">{t("review.rejected_because")}</p><ul className="list-disc pl-4 text-sm">{loop.review?.rejection_reasons.map((reason, index) => <li key={index} className="break-words">{reason}</li>)}</ul></div> : null}
        {ignored.length > 0 ? <details data-ignored className="text-sm"><summary className="text-wait">{t("review.ignored", { count: loop.history.at(-1)?.checkpoint.ignored_new_count ?? ignored.length })}</summary><ul className="mt-1 space-y-0.5 text-xs">{ignored.map((path) => <li key={path}><code className="break-all">{path}</code></li>)}</ul></details> : null}
        <div className="flex flex-wrap gap-2">
          <Button tone="accent" onClick={() => onAsk("approve")}><Check className="size-4" />{t("action.approve")}</Button>
          <Button tone="danger" onClick={() => onAsk("reject")}><Cross className="size-4" />{t("action.reject")}</Button>
          <Button onClick={() => onShow("diff")}>{t("review.read_diff")}</Button>
          <Button tone="quiet" onClick={() => onAsk("takeover")}><Key className="size-4" />{t("action.takeover")}</Button>
        </div>
        <p className="text-xs text-soft">{t("ask.approve.text")} {t("review.ask_changes")}</p>
        <p className="text-xs"><button type="button" className="text-accent underline" onClick={() => void download(`/api/loops/${encodeURIComponent(loop.id)}/proof`).catch((error: unknown) => sayProblem(error, t))}>{t("review.proof")}</button></p>
      </div>
    </section>
  );
}
