import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { Fragment, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { getText } from "../api/client";
import type { LoopView } from "../api/types";
import { wordMarks, type Span } from "../diff/words";
import { clear } from "../lib/clear";
import { bytes } from "../lib/format";
import { below, besides, lineDiff, shortened, type Pair, type Placed } from "../lib/lineDiff";
import { remember, remembered } from "../lib/storage";
import { say } from "../lib/toast";
import { useWidth } from "../lib/width";
import { AgentText } from "../ui/AgentText";
import { Message } from "../ui/icons";
import { Button, Empty, Loading, Problem } from "../ui/primitives";
import type { Show } from "./LoopPage";
import { lineKinds, promptParts, type Known, type PartKind } from "./promptParts";
import { TurnPicker, useTurns } from "./TurnPicker";

function usePrompt(loop: LoopView, turn: string | undefined) {
  return useQuery({
    queryKey: ["prompt", loop.id, turn],
    enabled: turn !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => getText(`/api/loops/${encodeURIComponent(loop.id)}/turns/${encodeURIComponent(turn ?? "")}/prompt`, signal),
  });
}

/** What the agent was sent, whole or as what changed since the prompt before; the button copies it byte for byte. */
export default function PromptsTab({ loop, turn, onShow }: { loop: LoopView; turn: string | undefined; onShow: Show }) {
  const { t } = useTranslation();
  const turns = useTurns(loop);
  const [compares, compare] = useState(false);
  const [raw, showRaw] = useState(() => remembered("prompts") === "raw");
  const all = turns.data ?? [];
  const chosen = all.find((each) => each.turn === turn) ?? all.at(-1);
  const earlier = chosen ? all.slice(0, all.indexOf(chosen)).findLast((each) => each.role === chosen.role) : undefined;
  const prompt = usePrompt(loop, chosen?.turn);
  const before = usePrompt(loop, compares ? earlier?.turn : undefined);
  const known = useMemo((): Known => ({ goal: loop.goal, promise: "<promise>", messages: loop.steering.map((message) => message.text) }), [loop.goal, loop.steering]);
  if (turns.error && !turns.data) return <Problem error={turns.error} onRetry={() => void turns.refetch()} />;
  if (!turns.data) return <Loading />;
  if (!chosen) return <Empty icon={<Message />} title={t("prompts.none")} />;
  const both = compares && earlier && before.data !== undefined;
  return (
    <div className="mx-auto flex max-w-6xl flex-col gap-2 px-2 py-3 sm:px-4">
      <div className="flex flex-wrap items-center gap-3">
        <TurnPicker turns={all} value={chosen.turn} onChange={(next) => onShow("prompts", { turn: next })} />
        {chosen.prompt_bytes != null ? <span className="figures text-xs text-soft">{bytes(chosen.prompt_bytes)}</span> : null}
        <Button small disabled={!prompt.data} onClick={() => void navigator.clipboard.writeText(prompt.data ?? "").then(() => say(t("prompts.copied")))}>{t("action.copy")}</Button>
        <Button small aria-pressed={compares} tone={compares ? "accent" : "plain"} disabled={!earlier} onClick={() => compare(!compares)}>{t("prompts.compare")}</Button>
        <div role="group" aria-label={t("diff.mode")} className="segments flex">
          {[false, true].map((one) => <Button key={String(one)} small disabled={compares} aria-pressed={raw === one} tone={raw === one ? "accent" : "plain"} onClick={() => { showRaw(one); remember("prompts", one ? "raw" : null); }}>{t(one ? "review.as_written" : "prompts.formatted")}</Button>)}
        </div>
      </div>
      {prompt.isPending ? <Loading /> : null}
      {prompt.error ? <Problem error={prompt.error} onRetry={() => void prompt.refetch()} /> : null}
      {prompt.data !== undefined && both ? <Changed before={before.data} after={prompt.data} earlier={earlier.turn} turn={chosen.turn} known={known} /> : null}
      {prompt.data !== undefined && !both ? <div tabIndex={0} role="group" aria-label={t("tab.prompts")} className="card px-3 py-2"><Parts text={prompt.data} known={known} raw={raw} /></div> : null}
    </div>
  );
}

const MARK: Record<PartKind, string> = { goal: "border-l-accent", gates: "border-l-bad", findings: "border-l-brass", message: "border-l-ask", plan: "border-l-run", promise: "border-l-good", words: "border-l-line-strong" };
const isHeading = (line: string) => /^#{1,6} \S/.test(line) || /^<\/?[a-z_-]+>$/.test(line);

/** Each part under its name. */
function Parts({ text, known, raw }: { text: string; known: Known; raw: boolean }) {
  const { t } = useTranslation();
  const parts = useMemo(() => promptParts(text, known), [text, known]);
  return parts.map((part, index) => (
    <section key={index} data-part={part.kind} aria-label={t(`prompts.part_${part.kind}`)} className={clsx("mb-2 border-l-4 pl-2.5", MARK[part.kind])}>
      <p className="font-sans text-xs text-faint">{t(`prompts.part_${part.kind}`)}</p>
      {raw ? <pre className="output">{part.lines.map((line, at) => <span key={at} className={clsx(isHeading(line) && "font-bold text-accent")}>{clear(line)}{"\n"}</span>)}</pre> : <div className="text-sm"><AgentText text={part.lines.join("\n")} /></div>}
    </section>
  ));
}

/** Both prompts beside each other, below each other on a phone: what changed, and which part it belongs to. */
function Changed({ before, after, earlier, turn, known }: { before: string; after: string; earlier: string; turn: string; known: Known }) {
  const { t } = useTranslation();
  const runs = useMemo(() => besides(shortened(lineDiff(before, after))), [before, after]);
  const kinds = useMemo(() => ({ before: lineKinds(before, known), after: lineKinds(after, known) }), [before, after, known]);
  const changed = runs.some((run) => run.type === "pairs");
  const [place, width] = useWidth<HTMLElement>();
  const wide = width >= SIDE_BY_SIDE;
  return (
    <section ref={place} aria-label={t("prompts.since", { turn: earlier })} data-prompt-diff className="card overflow-hidden">
      <p className="border-b border-line bg-sunken px-3 py-1.5 text-xs text-soft">{changed ? t("prompts.since", { turn: earlier }) : t("prompts.same", { turn: earlier })}</p>
      {wide ? <div className="grid grid-cols-2 divide-x divide-line border-b border-line text-xs">{[earlier, turn].map((name) => <code key={name} className="px-3 py-1 font-semibold">{name}</code>)}</div> : null}
      <div tabIndex={0} role="group" aria-label={t("tab.prompts")} className="output">
        {runs.map((run, index) => (run.type === "skipped" ? <p key={index} className="bg-accent-soft px-3 font-sans text-xs text-accent">{t("prompts.unchanged", { count: run.count })}</p> : <Fragment key={index}>{wide ? run.pairs.map((pair, at) => <PairRow key={at} pair={pair} kinds={kinds} />) : below(run.pairs).map(({ side, line }, at) => <Side key={at} line={line} kinds={kinds[side === "before" ? "before" : "after"]} look={LOOK_OF[side]} />)}</Fragment>))}
      </div>
    </section>
  );
}

type Kinds = Record<"before" | "after", readonly PartKind[]>;

function PairRow({ pair: { before, after }, kinds }: { pair: Pair; kinds: Kinds }) {
  const same = before?.text === after?.text;
  const marks = useMemo(() => (before && after && !same ? wordMarks(before.text, after.text) : null), [before, after, same]);
  return (
    <div className="grid grid-cols-2 divide-x divide-line">
      {before ? <Side line={before} kinds={kinds.before} look={same ? "same" : "remove"} marks={marks?.[0]} /> : <span className="bg-sunken" />}
      {after ? <Side line={after} kinds={kinds.after} look={same ? "same" : "add"} marks={marks?.[1]} /> : <span className="bg-sunken" />}
    </div>
  );
}

const LOOK = { same: { sign: "  ", look: "", mark: "" }, add: { sign: "+ ", look: "bg-add text-add-ink", mark: "bg-add-strong" }, remove: { sign: "− ", look: "bg-del text-del-ink", mark: "bg-del-strong" } } as const;

const LOOK_OF = { before: "remove", after: "add", both: "same" } as const;
/** Two columns of a prompt need so many pixels. */
const SIDE_BY_SIDE = 640;

function Side({ line, kinds, look, marks }: { line: Placed; kinds: readonly PartKind[]; look: keyof typeof LOOK; marks?: readonly Span[] | undefined }) {
  const { t } = useTranslation();
  const kind = kinds[line.at] ?? "words";
  const begins = line.at === 0 || kinds[line.at - 1] !== kind;
  const { sign, look: ground, mark } = LOOK[look];
  return (
    <div data-part={kind} className={clsx("min-w-0 border-l-4 px-2", MARK[kind], ground)}>
      {begins ? <span className="float-right ml-2 font-sans text-[11px] text-soft select-none">{t(`prompts.part_${kind}`)}</span> : null}{sign}{marks ? marks.map((span, index) => (span.changed ? <mark key={index} className={clsx("rounded-xs text-inherit", mark)}>{clear(span.text)}</mark> : clear(span.text))) : clear(line.text)}
    </div>
  );
}
