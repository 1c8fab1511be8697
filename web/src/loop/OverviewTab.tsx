import { useMemo, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { LoopView } from "../api/types";
import { short } from "../lib/format";
import type { Verb } from "../loops/actions";
import { tokensOf } from "../loops/figures";
import { AgentName } from "../loops/parts";
import { Branch, Cross } from "../ui/icons";
import { Button, IconButton, Loading, Problem } from "../ui/primitives";
import { DiffStat, useSizes } from "./DiffStat";
import { forkPoints } from "./fork";
import { OpenFindings } from "./FindingsTab";
import { GateTable } from "./GateTable";
import { Claims, MergeState, Where } from "./LoopHeader";
import { IterationBody, longestTurn, useTimeline } from "./IterationBody";
import { IterationStrip } from "./IterationStrip";
import type { Show } from "./LoopPage";
import { isOpen } from "../ui/status";
import { AnswerCard } from "./AnswerCard";
import { canMerge } from "./merge";
import { MergeRefusal } from "./MergeRefusal";
import { NextCard } from "./NextCard";
import { asksForReview } from "./phase";
import { RefusalCard } from "./RefusalCard";
import { ReviewCard } from "./ReviewCard";
import { baseGates, cellsOf, refusalOf } from "./story";
import type { Feed } from "./useFeed";
import { LiveWords } from "./LiveWords";
import { LastWords } from "./Words";

/** What there is to know before anything is opened: what is asked, how it went, why it was refused, what comes next. */
export default function OverviewTab({ loop, feed, iteration, onShow, onAsk }: { loop: LoopView; feed: Feed; iteration: number | undefined; onShow: Show; onAsk: (verb: Verb, iteration?: number) => void }) {
  const { t } = useTranslation();
  const timeline = useTimeline(loop);
  const sizes = useSizes(loop);
  const story = useMemo(() => {
    if (!timeline.data) return null;
    const cells = cellsOf(loop, timeline.data, sizes.data);
    return { cells, refusal: refusalOf(timeline.data, cells), base: baseGates(timeline.data), longest: longestTurn(timeline.data.iterations) };
  }, [loop, timeline.data, sizes.data]);
  if (timeline.error && !timeline.data) return <Problem error={timeline.error} onRetry={() => void timeline.refetch()} />;
  if (!story || !timeline.data) return <Loading lines={8} />;
  const opened = timeline.data.iterations.find((each) => each.iteration === iteration);
  const turns = timeline.data.iterations.flatMap((each) => each.turns);
  const asks = asksForReview(loop);
  return (
    <div data-overview className="mx-auto grid grid-cols-1 max-w-6xl gap-3 px-2 py-3 sm:px-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <div className="min-w-0 space-y-3">
        {loop.questions.filter((question) => question.open && isOpen(loop.status)).map((question) => <AnswerCard key={question.id} loop={loop} question={question} />)}
        {asks ? <ReviewCard loop={loop} turns={turns} base={story.base} onShow={onShow} onAsk={onAsk} /> : <NextCard loop={loop} wish={feed.wish} onAsk={onAsk} />}
        {loop.merge_refused ? <MergeRefusal loop={loop} refused={loop.merge_refused} onAsk={onAsk} /> : null}
        {story.cells.length > 0 ? (
          <Part title={t("loop.iterations")}>
            <IterationStrip cells={story.cells} chosen={iteration} label={t("loop.iterations")} onChoose={(number) => onShow("overview", number === iteration ? {} : { iteration: number })} />
            {opened ? (
              <div data-opened className="mt-2 border-t border-line pt-2">
                <div className="flex items-center gap-3">
                  <h3 className="text-sm font-semibold">{t("feed.iteration", { number: opened.iteration })}</h3>
                  <button type="button" className="text-xs text-accent underline" onClick={() => onShow("diff", { iteration: opened.iteration })}>{t("tab.diff")}</button>
                  {forkPoints(loop).includes(opened.iteration) ? <Button small onClick={() => onAsk("fork", opened.iteration)}><Branch className="size-3.5" />{t("fork.here")}</Button> : null}
                  <IconButton small label={t("action.close")} className="ml-auto" onClick={() => onShow("overview")}><Cross className="size-3.5" /></IconButton>
                </div>
                <IterationBody iteration={opened} longest={story.longest} onShow={onShow} />
              </div>
            ) : null}
          </Part>
        ) : null}
        {story.refusal ? <RefusalCard loop={loop} refusal={story.refusal} over={!isOpen(loop.status)} onShow={onShow} /> : null}
        {asks ? null : isOpen(loop.status) ? <LiveWords loop={loop} feed={feed} onShow={onShow} /> : <LastWords turns={turns} onShow={onShow} />}
      </div>
      <div className="min-w-0 space-y-3">
        <div className="sm:hidden"><Part title={t("overview.details")}><Details loop={loop} /></Part></div>
        <Part title={t("loop.gates")}><GateTable loop={loop} base={story.base} /></Part>
        <Part title={t("overview.changes")} action={<LinkTo onClick={() => onShow("diff")}>{t("tab.diff")}</LinkTo>}><DiffStat loop={loop} /></Part>
        {loop.review ? <Part title={t("overview.findings")} action={<LinkTo onClick={() => onShow("findings")}>{t("tab.findings")}</LinkTo>}><OpenFindings loop={loop} /></Part> : null}
      </div>
    </div>
  );
}

function Part({ title, action, children }: { title: string; action?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title} className="card min-w-0 px-3 py-2.5">
      <div className="mb-1.5 flex items-baseline justify-between gap-2"><h2>{title}</h2>{action}</div>
      {children}
    </section>
  );
}

/** What the header has no room for on a phone. */
function Details({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const rows: [string, ReactNode][] = [
    ...(loop.merged || (!isOpen(loop.status) && canMerge(loop)) ? [[t("action.merge"), <MergeState key="merge" loop={loop} />] as [string, ReactNode]] : []),
    [t("loop.agent"), <span key="agent" className="break-words"><AgentName loop={loop} />{loop.review ? ` · ${loop.review.reviewer}` : ""}</span>],
    [t("loop.claims"), <Claims key="claims" loop={loop} />],
    [t("loop.token_limit"), short(tokensOf(loop.usage))],
    [t("loop.where"), <Where key="where" loop={loop} />],
  ];
  return (
    <dl data-details className="grid grid-cols-[5.5rem_minmax(0,1fr)] items-center gap-x-3 gap-y-1.5 text-sm">
      {rows.map(([label, value]) => <div key={label} className="contents"><dt className="text-xs text-faint">{label}</dt><dd className="min-w-0">{value}</dd></div>)}
    </dl>
  );
}

function LinkTo({ onClick, children }: { onClick: () => void; children: ReactNode }) {
  return <button type="button" className="text-xs text-accent underline" onClick={onClick}>{children}</button>;
}
