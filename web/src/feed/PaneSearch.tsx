import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Feed } from "../loop/useFeed";
import { clock } from "../lib/format";
import { useKeys } from "../lib/keys";
import { Cross, Down, Search, Up } from "../ui/icons";
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

/** Shorter words are everywhere. */
const SHORTEST = 2;

/** Opens the search of one side, which then has a line of its own. */
export function PaneSearch(props: Props) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const { onHit, onWords } = props;
  const close = () => {
    setOpen(false);
    onHit(null);
    onWords(undefined);
  };
  return (
    <>
      <IconButton label={t("feed.search")} aria-expanded={open} onClick={() => (open ? close() : setOpen(true))} data-search={props.side}><Search className="size-3.5" /></IconButton>
      {open ? <SearchLine {...props} onClose={close} /> : null}
    </>
  );
}

/** Looks through what is loaded first, then piece by piece through the rest, back to the loop's beginning or on to now. It says how far it has looked. */
function SearchLine({ feed, side, hit, onHit, onWords, onClose }: Props & { onClose: () => void }) {
  const { t, i18n } = useTranslation();
  const [words, setWords] = useState("");
  const [said, say] = useState("");
  const [hunting, setHunting] = useState<AbortController | null>(null);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => box.current?.focus(), []);
  useEffect(() => () => hunting?.abort(), [hunting]);
  const pane = feed.window.panes[side];
  const find = words.toLowerCase();
  const long = find.length >= SHORTEST;

  // Counted when the words change or a hit is gone to, not with every line that comes.
  const settled = useDeferredValue(find);
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const hits = useMemo(() => (settled.length >= SHORTEST ? pane.rows.filter((row) => textOf(row).includes(settled)) : []), [settled, hit, pane]);
  const place = hits.findIndex((row) => row.key === hit) + 1;
  const isPart = pane.start !== null || pane.cut > 0;
  const count = long && hits.length > 0 ? `${place > 0 ? `${place} / ` : ""}${hits.length}${isPart ? "+" : ""}` : "";

  const write = (next: string) => {
    hunting?.abort();
    setWords(next);
    say("");
    onHit(null);
    onWords(next.length >= SHORTEST ? next.toLowerCase() : undefined);
  };
  const go = (row: Row) => {
    feed.window.follow(side, false);
    say("");
    onHit(row.key);
  };
  const seek = async (later: boolean) => {
    if (!long || hunting) return;
    const matches = (row: Row) => textOf(row).includes(find);
    const at = pane.rows.findIndex((row) => row.key === hit);
    const here = later ? pane.rows.find((row, index) => index > at && matches(row)) : pane.rows.findLast((row, index) => (at < 0 || index < at) && matches(row));
    if (here) return go(here);
    const stop = new AbortController();
    setHunting(stop);
    say(t("feed.hunting"));
    try {
      const hunt = later ? feed.huntLater : feed.huntEarlier;
      const found = await hunt(side, find, stop.signal, (time) => say(t(later ? "feed.hunting_on" : "feed.hunting_to", { time: clock(time, i18n.language) })));
      const row = found ? (later ? pane.rows.find(matches) : pane.rows.findLast(matches)) : undefined;
      if (row) go(row);
      else say(t(later ? "feed.none_later" : "feed.none_earlier"));
    } catch {
      say(stop.signal.aborted ? "" : t("state.unreachable"));
    } finally {
      setHunting(null);
    }
  };
  useKeys({ n: () => void seek(false), N: () => void seek(true) });
  return (
    <form role="search" className="order-last flex basis-full items-center gap-1 pb-1.5" onSubmit={(event) => { event.preventDefault(); void seek(false); }}>
      <input
        ref={box}
        type="search"
        aria-label={t("feed.search")}
        placeholder={t("feed.search_all")}
        className="field min-h-7 min-w-24 max-w-72 shrink grow basis-40 py-0.5 text-xs"
        value={words}
        onChange={(event) => write(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
          if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); void seek(true); }
        }}
      />
      <IconButton label={t("feed.previous")} small onClick={() => void seek(false)}><Up className="size-3.5" /></IconButton>
      <IconButton label={t("feed.next")} small onClick={() => void seek(true)}><Down className="size-3.5" /></IconButton>
      <span data-hits title={isPart ? t("feed.hits_part") : undefined} className="figures shrink-0 text-xs text-soft">{count}</span>
      <span role="status" data-searched className="min-w-0 grow truncate text-xs text-soft" title={said}>{said || (long && settled === find && hits.length === 0 ? t(isPart ? "feed.none_here" : "feed.none") : "")}</span>
      {hunting ? <IconButton label={t("feed.cancel_search")} small onClick={() => hunting.abort()}><Cross className="size-3" /></IconButton> : null}
    </form>
  );
}
