import clsx from "clsx";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { LoopView } from "../api/types";
import { FeedPane } from "../feed/FeedPane";
import type { Side } from "../feed/rows";
import { activeSide } from "./phase";
import { Dot } from "../ui/icons";
import { roleName } from "./roles";
import type { Feed } from "./useFeed";

/** Coder and reviewer side by side; one at a time where there is no room for two. */
export function Monitor({ loop, feed }: { loop: LoopView; feed: Feed }) {
  const { t } = useTranslation();
  const active = activeSide(loop);
  const [chosen, choose] = useState<Side | null>(null);
  // Whoever works is shown, until somebody chooses.
  useEffect(() => choose(null), [active]);
  const shown = chosen ?? active ?? "coder";
  const name = (side: Side) => (side === "coder" ? loop.agent : (loop.review?.reviewer ?? ""));
  const role = (side: Side) => roleName(loop.review?.kind, t)(side === "coder" ? "coder" : loop.review?.kind === "acceptance" ? "acceptor" : "auditor");
  const title = (side: Side) => (
    <>
      <strong className="font-semibold">{role(side)}</strong> <span className="text-soft">{name(side)}</span>
      {active === side ? <span className="ml-1 text-xs font-medium text-run"><Dot className="inline size-3 align-[-1px]" /> {t("feed.at_work")}</span> : null}
    </>
  );
  const sides: Side[] = loop.review ? ["coder", "reviewer"] : ["coder"];
  return (
    <div className="flex h-full min-h-64 flex-col gap-2 p-2 sm:p-3">
      {sides.length > 1 ? (
        <div className="flex gap-1 md:hidden" role="group" aria-label={t("tab.monitor")}>
          {sides.map((side) => (
            <button key={side} type="button" aria-pressed={shown === side} onClick={() => choose(side)} className={clsx("min-h-9 grow rounded-md border px-2 text-sm", shown === side ? "border-accent bg-accent-soft font-medium" : "border-line bg-panel text-soft")}>
              {role(side)}{active === side ? <Dot className="ml-1 inline size-3 align-[-1px] text-run" label={t("feed.at_work")} /> : null}
            </button>
          ))}
        </div>
      ) : null}
      <div className="flex min-h-0 grow gap-2">
        {sides.map((side) => (
          <div key={side} className={clsx("min-h-0 min-w-0 grow basis-0", side === shown ? "flex" : "hidden md:flex")}>
            <FeedPane feed={feed} side={side} title={title(side)} active={active === side} />
          </div>
        ))}
      </div>
    </div>
  );
}
