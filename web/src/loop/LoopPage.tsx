import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Tabs } from "radix-ui";
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { get, isMissing, isUnauthorised } from "../api/client";
import type { LoopView } from "../api/types";
import { useCommands, type Command } from "../app/commands";
import { Unauthorised } from "../app/Unauthorised";
import { useItemKeys, useKeys } from "../lib/keys";
import { baseName } from "../lib/format";
import { useTitle } from "../lib/title";
import { ActionDialog, useAct, type Asked, type Verb } from "../loops/actions";
import { Search } from "../ui/icons";
import { Empty, Loading, Problem } from "../ui/primitives";
import { canResume, isOpen, statusName } from "../ui/status";
import { LoopHeader } from "./LoopHeader";
import { canFork } from "./fork";
import { canMerge } from "./merge";
import { Monitor } from "./Monitor";
import { asksForReview } from "./phase";
import { PhaseBar } from "./PhaseBar";
import { Recipe } from "./roles";
import { useFeed } from "./useFeed";

const Overview = lazy(() => import("./OverviewTab"));
const Timeline = lazy(() => import("../timeline/TimelineTab"));
const Diff = lazy(() => import("../diff/DiffTab"));
const Findings = lazy(() => import("./FindingsTab"));
const Plan = lazy(() => import("./PlanTab"));
const Prompts = lazy(() => import("./PromptsTab"));
const UsageCharts = lazy(() => import("../usage/UsageTab"));
const Raw = lazy(() => import("./RawTab"));

const TABS = ["overview", "monitor", "timeline", "diff", "findings", "plan", "prompts", "usage", "raw"] as const;
export type Tab = (typeof TABS)[number];

export function LoopPage() {
  const { t } = useTranslation();
  const { id } = useParams({ from: "/loops/$id" });
  const loop = useQuery({ queryKey: ["loop", id, "status"], queryFn: ({ signal }) => get<LoopView>(`/api/loops/${encodeURIComponent(id)}`, signal) });
  if (isUnauthorised(loop.error)) return <Unauthorised />;
  if (isMissing(loop.error) && !loop.data) return <Empty icon={<Search />} title={t("state.no_loop", { name: id })}><Link to="/" className="text-accent underline">{t("nav.loops")}</Link></Empty>;
  if (loop.error && !loop.data) return <Problem error={loop.error} onRetry={() => void loop.refetch()} />;
  if (!loop.data) return <Loading lines={10} />;
  return <Loaded key={id} loop={loop.data} />;
}

function Loaded({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const search = useSearch({ from: "/loops/$id" });
  const navigate = useNavigate();
  const [asked, ask] = useState<Asked | null>(null);
  const act = useAct();
  // Who opens a loop that works wants to see it work; of any other loop, how it stands. It stays there when that changes.
  const [first] = useState<Tab>(() => (isOpen(loop.status) ? "monitor" : "overview"));
  const tab = (TABS as readonly string[]).includes(search.tab ?? "") ? (search.tab as Tab) : first;
  const reviewed = Boolean(loop.review);
  const feed = useFeed(loop.id, reviewed ? 2 : 1);
  const show = (next: string, more: ShowMore = {}) => void navigate({ to: "/loops/$id", params: { id: loop.id }, search: { tab: next, ...more }, replace: true });
  const tabs = TABS.filter((name) => reviewed || (name !== "findings" && name !== "plan"));
  const pause = () => (isOpen(loop.status) ? act.mutate({ loop, verb: "pause" }) : canResume(loop.status) ? ask({ verb: "resume", loop }) : undefined);
  useKeys({
    s: () => isOpen(loop.status) && ask({ verb: "stop", loop }),
    p: pause,
    m: () => ask({ verb: "steer", loop }),
    a: () => ask({ verb: "approve", loop }),
    r: () => ask({ verb: "reject", loop }),
    f: () => {
      const panes = seen("[data-follow]");
      const loose = panes.filter((button) => button.getAttribute("aria-pressed") === "false");
      for (const button of loose.length > 0 ? loose : panes) button.click();
    },
    "/": () => (seen("[data-active=true] [data-search]")[0] ?? seen("[data-search]")[0])?.click(),
    ...Object.fromEntries(tabs.slice(0, 9).map((name, index) => [String(index + 1), () => show(name)])),
  });
  const commands = useMemo((): Command[] => {
    const verbs: [Verb, boolean, string?][] = [["steer", isOpen(loop.status) || loop.status === "paused", "m"], ["pause", isOpen(loop.status), "p"], ["resume", canResume(loop.status), "p"], ["stop", isOpen(loop.status), "s"], ["approve", asksForReview(loop), "a"], ["reject", asksForReview(loop), "r"], ["merge", !isOpen(loop.status) && canMerge(loop)], ["restart", !isOpen(loop.status) && loop.status !== "completed"], ["rollback", !isOpen(loop.status) && loop.iterations > 0], ["fork", canFork(loop)], ["takeover", Boolean(loop.worktree)]];
    return [
      ...verbs.filter(([, possible]) => possible).map(([verb, , keys]) => ({ id: verb, group: loop.name, label: t(`action.${verb}`), keys, run: () => ask({ verb, loop }) })),
      ...tabs.map((name, index) => ({ id: `tab ${name}`, group: loop.name, label: t(`tab.${name}`), keys: String(index + 1), run: () => show(name) })),
    ];
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [loop, t]);
  useCommands("loop", commands);
  useItemKeys();
  useTitle(loop.name, t(`status.${statusName(loop.status)}`), baseName(loop.project));
  // Where there is no room for all tabs, the one that is open is seen.
  const bar = useRef<HTMLDivElement>(null);
  useEffect(() => {
    bar.current?.querySelector("[data-state=active]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [tab]);
  return (
    <Recipe value={loop.recipe}>
      <Tabs.Root value={tab} onValueChange={show} className="flex h-full flex-col">
        <LoopHeader loop={loop} onAsk={(verb) => ask({ verb, loop })} onPause={pause} />
        <Tabs.List ref={bar} aria-label={loop.name} className="flex shrink-0 gap-1 overflow-x-auto border-b border-line bg-panel px-2 sm:px-4">
          {tabs.map((name) => (
            <Tabs.Trigger key={name} value={name} className="min-h-9 border-b-2 border-transparent px-2.5 text-sm whitespace-nowrap text-soft hover:text-ink data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-ink">
              {t(`tab.${name}`)}
              {name === "findings" && loop.review && loop.review.findings_open > 0 ? <span className="ml-1 rounded-full bg-bad-soft px-1.5 text-xs text-bad">{loop.review.findings_open}</span> : null}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <Tabs.Content value={tab} tabIndex={-1} className="min-h-0 grow overflow-auto outline-none">
          <Suspense fallback={<Loading lines={8} />}>
            {tab === "overview" ? <Overview loop={loop} feed={feed} iteration={search.iteration} onShow={show} onAsk={(verb, number) => ask({ verb, loop, iteration: number })} /> : null}
            {tab === "monitor" ? <Monitor loop={loop} feed={feed} /> : null}
            {tab === "timeline" ? <Timeline loop={loop} onShow={show} /> : null}
            {tab === "diff" ? <Diff loop={loop} iteration={search.iteration} since={search.since} onShow={show} onAsk={(verb, text, onDone) => ask({ verb, loop, text, onDone })} /> : null}
            {tab === "findings" ? <Findings loop={loop} /> : null}
            {tab === "plan" ? <Plan loop={loop} /> : null}
            {tab === "prompts" ? <Prompts loop={loop} turn={search.turn} onShow={show} /> : null}
            {tab === "usage" ? <UsageCharts loop={loop} /> : null}
            {tab === "raw" ? <Raw loop={loop} turn={search.turn} onShow={show} /> : null}
          </Suspense>
        </Tabs.Content>
        <PhaseBar loop={loop} wish={feed.wish} onAsk={(verb) => ask({ verb, loop })} />
        <ActionDialog asked={asked} onClose={() => ask(null)} />
      </Tabs.Root>
    </Recipe>
  );
}

/** What is on the screen: on a phone one of the two panes is not. */
const seen = (selector: string) => [...document.querySelectorAll<HTMLElement>(selector)].filter((element) => element.checkVisibility());

interface ShowMore {
  iteration?: number;
  since?: string;
  turn?: string;
}
export type Show = (tab: string, more?: ShowMore) => void;
