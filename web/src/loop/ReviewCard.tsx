import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { download } from "../api/client";
import type { GateReport, LoopView, TurnView } from "../api/types";
import { duration, money, short } from "../lib/format";
import { sayProblem } from "../lib/toast";
import type { Verb } from "../loops/actions";
import { tokensOf } from "../loops/figures";
import { Branch, Check, Cross, Eye, Gate, Key } from "../ui/icons";
import { Button } from "../ui/primitives";
import { Size, totalOf, useDiff } from "./DiffStat";
import type { Show } from "./LoopPage";
import { phaseWords } from "./phase";
import { Words } from "./Words";

/** What a person has to know to approve or reject; gates, size and findings are beside it. */
export function ReviewCard({ loop, turns, base, onShow, onAsk }: { loop: LoopView; turns: readonly TurnView[]; base: ReadonlyMap<string, GateReport["verdict"]>; onShow: Show; onAsk: (verb: Verb) => void }) {
  const { t } = useTranslation();
  const last = turns.findLast((turn) => ["auditor", "acceptor"].includes(turn.role) && turn.last_words);
  const cost = loop.usage.cost_usd;
  // Git ignores them: they are in no diff and in no commit, but the agent may rely on them.
  const ignored = loop.history.at(-1)?.checkpoint.ignored_new ?? [];
  const facts = [
    t("review.iterations", { count: loop.iterations }),
    t("review.claims", { count: loop.claims.made }),
    t("loop.refused", { count: loop.claims.refused }),
    cost == null ? t("loop.tokens", { tokens: short(tokensOf(loop.usage)) }) : money(cost),
    duration(loop.elapsed_ms),
  ];
  return (
    <section data-review-card aria-label={t("review.yours")} className="card border-ask">
      <header className="flex flex-wrap items-center gap-x-2 border-b border-line bg-ask-soft px-3 py-2 text-ask"><Eye /><h2>{t("review.yours")}</h2><span className="text-sm">{phaseWords(loop, t)}</span></header>
      <div className="space-y-3 px-3 py-3">
        <div><p className="text-xs text-faint">{t("new.goal")}</p><p className="break-words whitespace-pre-wrap">{loop.goal}</p></div>
        <p className="figures text-sm text-soft">{facts.join(" · ")}</p>
        <Evidence loop={loop} base={base} onShow={onShow} />
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

/** What speaks for the work, in a line each; the details are beside the card, on a phone below it. */
function Evidence({ loop, base, onShow }: { loop: LoopView; base: ReadonlyMap<string, GateReport["verdict"]>; onShow: Show }) {
  const { t } = useTranslation();
  const diff = useDiff(loop);
  const total = diff.data ? totalOf(diff.data) : null;
  const passed = loop.gates.filter((gate) => gate.verdict === "pass").length;
  const red = loop.gates.filter((gate) => (base.get(gate.command) ?? "pass") !== "pass").length;
  const open = loop.review?.findings_open ?? 0;
  const all = passed === loop.gates.length;
  return (
    <ul data-evidence aria-label={t("review.evidence")} className="space-y-1 text-sm">
      <Fact icon={all && passed > 0 ? <Check className="text-good" /> : <Gate className={all ? "text-wait" : "text-bad"} />}>{loop.gates.length === 0 ? t("overview.no_gates") : <>{t("review.gates", { passed, count: loop.gates.length })}{red > 0 ? <span className="text-soft"> · {t("review.base", { count: red })}</span> : null}</>}</Fact>
      {total ? <Fact icon={<Branch className="text-faint" />}><button type="button" className="underline decoration-line-strong underline-offset-2" onClick={() => onShow("diff")}>{t("diff.files", { count: total.files })} · <Size added={total.added} removed={total.removed} /></button></Fact> : null}
      {loop.review ? <Fact icon={open === 0 ? <Check className="text-good" /> : <Cross className="text-bad" />}>{open === 0 ? t("overview.no_findings") : <button type="button" className="text-bad underline underline-offset-2" onClick={() => onShow("findings")}>{t("review.findings", { count: open })}</button>}</Fact> : null}
    </ul>
  );
}

function Fact({ icon, children }: { icon: ReactNode; children: ReactNode }) {
  return <li className="flex items-start gap-2"><span className="mt-0.5 shrink-0 [&_svg]:size-4">{icon}</span><span className="figures min-w-0">{children}</span></li>;
}
