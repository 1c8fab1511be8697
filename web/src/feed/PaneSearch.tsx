import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Feed } from "../loop/useFeed";
import { clock } from "../lib/format";
import { Cross, Search } from "../ui/icons";
import { IconButton } from "../ui/primitives";
import { textOf, type Row, type Side } from "./rows";

interface Props {
  feed: Feed;
  side: Side;
  /** The row that the last search ended at. */
  hit: string | null;
  onHit: (key: string | null) => void;
  onWords: (find: string | undefined) => void;
}

/** Searches one side: first what is loaded, then page by page back to the loop's beginning. It says how far it has looked. */
export function PaneSearch({ feed, side, hit, onHit, onWords }: Props) {
  const { t, i18n } = useTranslation();
  const [words, setWords] = useState<string | null>(null);
  const [said, say] = useState("");
  const [hunting, setHunting] = useState<AbortController | null>(null);
  const box = useRef<HTMLInputElement>(null);
  const pane = feed.window.panes[side];
  useEffect(() => () => hunting?.abort(), [hunting]);
  const write = (next: string | null) => {
    hunting?.abort();
    setWords(next);
    say("");
    onHit(null);
    onWords(next && next.length > 1 ? next.toLowerCase() : undefined);
  };
  const go = (row: Row) => {
    feed.window.follow(side, false);
    say("");
    onHit(row.key);
  };
  const find = (words ?? "").toLowerCase();
  const matches = (row: Row) => textOf(row).includes(find);
  const earlier = async () => {
    if (find.length < 2 || hunting) return;
    const at = pane.rows.findIndex((row) => row.key === hit);
    const here = pane.rows.findLast((row, index) => (at < 0 || index < at) && matches(row));
    if (here) return go(here);
    const stop = new AbortController();
    setHunting(stop);
    say(t("feed.hunting"));
    try {
      const found = await feed.hunt(side, find, stop.signal, (time) => say(t("feed.hunting_to", { time: clock(time, i18n.language) })));
      const row = found ? pane.rows.findLast(matches) : undefined;
      if (row) go(row);
      else say(t("feed.none_earlier"));
    } catch {
      say(stop.signal.aborted ? "" : t("state.unreachable"));
    } finally {
      setHunting(null);
    }
  };
  const later = () => {
    const at = pane.rows.findIndex((row) => row.key === hit);
    const here = find.length > 1 ? pane.rows.find((row, index) => index > at && matches(row)) : undefined;
    if (here) go(here);
    else say(t(pane.cut > 0 ? "feed.none_later_cut" : "feed.none_later"));
  };
  if (words === null) return <IconButton label={t("feed.search")} onClick={() => { write(""); requestAnimationFrame(() => box.current?.focus()); }} data-search={side}><Search className="size-3.5" /></IconButton>;
  return (
    <form role="search" className="flex min-w-0 items-center gap-1" onSubmit={(event) => { event.preventDefault(); void earlier(); }}>
      <span role="status" data-searched className="min-w-0 truncate text-xs text-soft" title={said}>{said}</span>
      {hunting ? <IconButton label={t("feed.cancel_search")} className="size-6" onClick={() => hunting.abort()}><Cross className="size-3" /></IconButton> : null}
      <input ref={box} type="search" aria-label={t("feed.search")} placeholder={t("feed.search_all")} className="field w-36 shrink-0 py-0.5 text-xs" value={words} onChange={(event) => write(event.target.value)} onKeyDown={(event) => { if (event.key === "Escape") write(null); }} />
      <IconButton label={t("feed.previous")} className="size-6" onClick={() => void earlier()}>↑</IconButton>
      <IconButton label={t("feed.next")} className="size-6" onClick={later}>↓</IconButton>
    </form>
  );
}
