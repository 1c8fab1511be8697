import clsx from "clsx";
import { useMemo, useState, type KeyboardEvent, type PointerEvent } from "react";
import { useTranslation } from "react-i18next";
import type { LoopView, Timeline } from "../api/types";
import { useNow } from "../lib/clock";
import { duration } from "../lib/format";
import { useWidth } from "../lib/width";
import type { Show } from "../loop/LoopPage";
import { useRole } from "../loop/roles";
import { Minus, Plus } from "../ui/icons";
import { Button, IconButton } from "../ui/primitives";
import { BarDetails } from "./BarDetails";
import { LANES, barsOf, drawn, firstView, moved, rangeOf, ticksOf, zoomed, type Bar, type Drawn, type Lane, type Range, type Tone } from "./graph";

const LOOK: Record<Tone, string> = {
  work: "bg-accent", review: "bg-ask", good: "bg-good", bad: "bg-bad", wait: "bg-wait", idle: "bg-idle-soft border border-line-strong", live: "bg-run breathe",
};
/** On a bar of that ground. */
const INK: Record<Tone, string> = { work: "text-accent-ink", review: "text-panel", good: "text-panel", bad: "text-panel", wait: "text-panel", idle: "text-ink", live: "text-panel" };
/** A bar that is wider than this says which iteration it belongs to. */
const NUMBERED = 26;
const FILL: Record<Tone, string> = { work: "fill-accent", review: "fill-ask", good: "fill-good", bad: "fill-bad", wait: "fill-wait", idle: "fill-idle-soft", live: "fill-run" };

/** Turns, gates, reviews, waits and pauses by role over time; what is in the view is chosen in the overview above it. */
export function TimelineGraph({ loop, timeline, onShow }: { loop: LoopView; timeline: Timeline; onShow: Show }) {
  const { t } = useTranslation();
  const now = useNow();
  const ticking = ["running", "waiting", "queued"].includes(loop.status);
  // A loop that rests does not grow with every second; its last pause reaches up to the last event.
  const end = ticking ? now : Date.parse(loop.updated_at);
  const bars = useMemo(() => barsOf(timeline, end, loop), [timeline, end, loop]);
  const whole = useMemo(() => rangeOf(bars), [bars]);
  const [chosen, choose] = useState<string | null>(null);
  const [at, goTo] = useState<string | null>(null);
  const [asked, ask] = useState<Range | null>(null);
  const [place, width] = useWidth();
  const first = useMemo(() => firstView(bars, whole), [bars, whole]);
  const follows = asked === null;
  const view = follows ? first : moved(asked, whole, 0);
  const opened = bars.find((bar) => bar.key === chosen);
  const lanes = LANES.filter((lane) => bars.some((bar) => bar.lane === lane));
  const shown = useMemo(() => drawn(bars, view, width), [bars, view, width]);
  const isWhole = view.start <= whole.start && view.end >= whole.end;
  // One bar is a stop of the Tab key; the arrow keys lead from it to the others, in the order of time.
  const inOrder = useMemo(() => [...shown].sort((one, other) => one.start - other.start || one.end - other.end), [shown]);
  const stop = inOrder.find((each) => each.key === at)?.key ?? inOrder[0]?.key;
  if (bars.length === 0) return null;
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && event.target instanceof HTMLElement && event.target.dataset["bar"]) {
      event.preventDefault();
      event.stopPropagation();
      const near = inOrder[inOrder.findIndex((each) => each.key === stop) + step];
      if (near) place.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(near.key)}"]`)?.focus();
      return;
    }
    const next = { "+": zoomed(view, whole, 0.5), "=": zoomed(view, whole, 0.5), "-": zoomed(view, whole, 2), ArrowLeft: moved(view, whole, -0.2), ArrowRight: moved(view, whole, 0.2), "0": whole }[event.key];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    ask(next);
  };
  return (
    <section data-graph aria-label={t("timeline.graph")} className="card mb-4 px-3 py-2.5">
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <h2>{t("timeline.graph")}</h2>
        <span className="figures text-xs text-soft">{duration(view.end - view.start)}{isWhole ? "" : ` / ${duration(whole.end - whole.start)}`}</span>
        <div className="ml-auto flex items-center gap-1">
          <IconButton small label={t("timeline.zoom_out")} disabled={isWhole} onClick={() => ask(zoomed(view, whole, 2))}><Minus className="size-3.5" /></IconButton>
          <IconButton small label={t("timeline.zoom_in")} onClick={() => ask(zoomed(view, whole, 0.5))}><Plus className="size-3.5" /></IconButton>
          <Button small disabled={isWhole} onClick={() => ask(whole)}>{t("timeline.fit")}</Button>
          <Button small disabled={follows} onClick={() => ask(null)}>{t("timeline.newest")}</Button>
        </div>
      </div>
      <Overview bars={bars} whole={whole} view={view} lanes={lanes} onView={ask} />
      <div className="flex">
        <LaneNames lanes={lanes} />
        <div ref={place} tabIndex={0} role="group" aria-label={t("timeline.keys")} onKeyDown={onKey} onWheel={(event) => { if (!event.ctrlKey) return; const box = event.currentTarget.getBoundingClientRect(); ask(zoomed(view, whole, event.deltaY > 0 ? 1.25 : 0.8, (event.clientX - box.left) / box.width)); }} className="relative min-w-0 grow overflow-hidden">
          <Ticks view={view} width={width} />
          {lanes.map((lane) => (
            <div key={lane} data-lane={lane} className="relative h-7 border-t border-line">
              {shown.filter((each) => each.lane === lane).map((each) => <BarView key={each.key} each={each} view={view} width={width} chosen={each.key === chosen} isStop={each.key === stop} onFocus={() => goTo(each.key)} onOpen={() => (each.bar ? choose(each.key === chosen ? null : each.key) : ask(zoomedTo(each, whole)))} />)}
            </div>
          ))}
        </div>
      </div>
      {opened ? <BarDetails bar={opened} onShow={onShow} onClose={() => choose(null)} /> : <p className="mt-2 text-xs text-faint">{t("timeline.hint")}</p>}
    </section>
  );
}

const zoomedTo = (each: Range, whole: Range) => moved({ start: each.start - (each.end - each.start) * 0.2, end: each.end + (each.end - each.start) * 0.2 }, whole, 0);

function useLaneName() {
  const { t } = useTranslation();
  const role = useRole();
  return (lane: Lane) => (lane === "gates" ? t("loop.gates") : lane === "wait" ? t("timeline.waits") : lane === "pause" ? t("timeline.pauses") : lane === "reviewer" ? t("timeline.reviewer") : role(lane));
}

function LaneNames({ lanes }: { lanes: readonly Lane[] }) {
  const name = useLaneName();
  return (
    <div aria-hidden className="w-20 shrink-0 pt-5 text-xs text-soft sm:w-28">
      {lanes.map((lane) => <div key={lane} className="flex h-7 items-center truncate border-t border-transparent pr-2">{name(lane)}</div>)}
    </div>
  );
}

function BarView({ each, view, width, chosen, isStop, onFocus, onOpen }: { each: Drawn; view: Range; width: number; chosen: boolean; isStop: boolean; onFocus: () => void; onOpen: () => void }) {
  const { t } = useTranslation();
  const words = useBarWords();
  const length = view.end - view.start;
  const left = Math.max(0, ((each.start - view.start) / length) * 100);
  const right = Math.min(100, ((each.end - view.start) / length) * 100);
  const number = each.bar?.about.type === "turn" ? each.bar.about.turn.iteration : each.bar?.about.type === "gate" ? each.bar.about.iteration : undefined;
  const isWide = ((right - left) / 100) * width >= NUMBERED;
  const name = each.bar ? words(each.bar) : t("timeline.several", { count: each.count });
  return (
    <button type="button" tabIndex={isStop ? 0 : -1} onFocus={onFocus} data-bar={each.lane} data-key={each.key} data-tone={each.tone} aria-pressed={chosen} aria-label={name} title={name} onClick={onOpen} className="absolute inset-y-0 min-w-1.5" style={{ left: `${left}%`, width: `${Math.max(0, right - left)}%` }}>
      <span className={clsx("absolute inset-x-0 inset-y-1 overflow-hidden rounded-sm", LOOK[each.tone], chosen && "ring-2 ring-ink")}>{number !== undefined && number > 0 && isWide ? <span aria-hidden className={clsx("figures block px-1 text-left text-[11px] leading-5 font-semibold", INK[each.tone])}>{number}</span> : null}</span>
    </button>
  );
}

export function useBarWords() {
  const { t, i18n } = useTranslation();
  const name = useLaneName();
  return (bar: Bar): string => {
    const { about } = bar;
    const what = about.type === "turn" ? `${name(bar.lane)}, ${t("feed.iteration", { number: about.turn.iteration })}` : about.type === "gate" ? `${about.report.command}: ${t(`verdict.${about.report.verdict}`)}, ${about.iteration > 0 ? t("feed.iteration", { number: about.iteration }) : t("feed.on_base")}` : name(bar.lane);
    const from = new Date(bar.start).toLocaleTimeString(i18n.language, { hour12: false });
    return `${what} · ${from} · ${duration(bar.end - bar.start)}${bar.live ? ` · ${t("timeline.under_way")}` : ""}`;
  };
}

function Ticks({ view, width }: { view: Range; width: number }) {
  const { i18n } = useTranslation();
  const length = view.end - view.start;
  const long = length > 86_400_000;
  const words = (at: number) => new Date(at).toLocaleString(i18n.language, long ? { month: "short", day: "numeric", hour: "2-digit", hour12: false } : { hour: "2-digit", minute: "2-digit", ...(length < 600_000 ? { second: "2-digit" } : {}), hour12: false });
  return (
    <div aria-hidden className="figures h-5 text-[11px] text-faint">
      {ticksOf(view, Math.max(2, Math.floor(width / 110))).map((at) => <span key={at} className="absolute top-0 bottom-0 border-l border-line pl-1" style={{ left: `${((at - view.start) / length) * 100}%` }}>{words(at)}</span>)}
    </div>
  );
}

/** All of it in a strip; drag to choose what is seen below. */
function Overview({ bars, whole, view, lanes, onView }: { bars: readonly Bar[]; whole: Range; view: Range; lanes: readonly Lane[]; onView: (view: Range) => void }) {
  const { t } = useTranslation();
  const [anchor, setAnchor] = useState<number | null>(null);
  const length = whole.end - whole.start;
  const shown = useMemo(() => drawn(bars, whole, 1000), [bars, whole]);
  const at = (time: number) => ((time - whole.start) / length) * 1000;
  const timeOf = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return whole.start + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * length;
  };
  const drag = (event: PointerEvent<SVGSVGElement>) => {
    if (anchor === null) return;
    const here = timeOf(event);
    if (Math.abs(here - anchor) > length / 200) onView({ start: Math.min(anchor, here), end: Math.max(anchor, here) });
  };
  return (
    <svg data-overview-strip role="img" aria-label={t("timeline.overview")} viewBox={`0 0 1000 ${lanes.length * 5 + 4}`} preserveAspectRatio="none" className="mb-2 ml-20 block h-9 w-[calc(100%-5rem)] cursor-crosshair touch-none rounded border border-line bg-sunken sm:ml-28 sm:w-[calc(100%-7rem)]" onPointerDown={(event) => { event.currentTarget.setPointerCapture(event.pointerId); setAnchor(timeOf(event)); }} onPointerMove={drag} onPointerUp={() => setAnchor(null)}>
      {shown.map((each) => <rect key={each.key} x={at(each.start)} width={Math.max(1, at(each.end) - at(each.start))} y={2 + lanes.indexOf(each.lane) * 5} height={4} className={FILL[each.tone]} />)}
      <rect x={at(view.start)} width={Math.max(2, at(view.end) - at(view.start))} y={0} height={lanes.length * 5 + 4} className="fill-accent/15 stroke-accent" vectorEffect="non-scaling-stroke" />
    </svg>
  );
}
