import clsx from "clsx";
import { useState, type ReactNode, type RefObject } from "react";
import { useTranslation } from "react-i18next";
import { baseName } from "../lib/format";
import { Funnel, Search } from "../ui/icons";
import { Button } from "../ui/primitives";
import { STATUSES } from "../ui/status";
import { GROUPINGS, MARKS, SORTINGS, SPANS, STATES, choicesOf, groupingOf, sortingOf, type View } from "./arrange";

/** What the second line of filters holds. */
const MORE = ["agent", "model", "recipe", "since"] as const;

/** What is shown and in which order. All of it is in the address. */
export function ViewBar({ view, choices, count, box, onChange }: { view: View; choices: ReturnType<typeof choicesOf>; count: number; box: RefObject<HTMLInputElement | null>; onChange: (part: View) => void }) {
  const { t } = useTranslation();
  const used = MORE.filter((key) => view[key]).length;
  const [opened, open] = useState(used > 0);
  const shown = opened || used > 0;
  // A phone has room for what narrows the list; the order is one of its filters.
  const folded = shown || view.group || view.sort ? "" : "max-sm:hidden";
  return (
    <div className="flex flex-wrap items-center gap-2 px-3 py-2.5 sm:px-4">
      <div className="relative min-w-0 grow basis-56 sm:max-w-sm">
        <Search className="pointer-events-none absolute top-2.5 left-2.5 text-faint" />
        <input ref={box} type="search" aria-label={t("loops.search")} placeholder={t("loops.search_hint")} className="field pl-8" value={view.q ?? ""} onChange={(event) => onChange({ q: event.target.value })} />
      </div>
      <Choice label={t("loops.status")} value={view.status ?? ""} onChange={(status) => onChange({ status })}>
        <option value="">{t("loops.any_status")}</option>
        {STATES.map((name) => <option key={name} value={name}>{t(`loops.state_${name}`)}</option>)}
        <optgroup label={t("loops.status")}>{STATUSES.map((name) => <option key={name} value={name}>{t(`status.${name}`)}</option>)}</optgroup>
        <optgroup label={t("loops.outcome")}>{MARKS.map((name) => <option key={name} value={name}>{t(`completed.${name}`)}</option>)}</optgroup>
      </Choice>
      <Choice label={t("loops.project")} value={view.project ?? ""} onChange={(project) => onChange({ project })}>
        <option value="">{t("loops.any_project")}</option>
        {choices.project.map((path) => <option key={path} value={path}>{baseName(path)}</option>)}
      </Choice>
      <Choice className={folded} label={t("loops.group")} value={groupingOf(view)} onChange={(group) => onChange({ group: group === GROUPINGS[0] ? "" : group })}>
        {GROUPINGS.map((name) => <option key={name} value={name}>{t(`loops.group_${name}`)}</option>)}
      </Choice>
      <Choice className={folded} label={t("loops.sort")} value={sortingOf(view)} onChange={(sort) => onChange({ sort: sort === SORTINGS[0] ? "" : sort })}>
        {SORTINGS.map((name) => <option key={name} value={name}>{t(`loops.sort_${name}`)}</option>)}
      </Choice>
      <Button aria-expanded={shown} aria-controls="more-filters" disabled={used > 0} className={clsx(used > 0 && "border-accent text-accent disabled:opacity-100")} onClick={() => open(!opened)}><Funnel className="size-3.5" />{used > 0 ? t("loops.filters_used", { count: used }) : t("loops.filters")}</Button>
      <span aria-live="polite" className="ml-auto text-xs text-soft max-sm:sr-only">{t("loops.count", { count })}</span>
      {shown ? (
        <div id="more-filters" className="flex basis-full flex-wrap gap-2">
          {(["agent", "model", "recipe"] as const).map((key) => (
            <Choice key={key} label={t(`loops.by_${key}`)} value={view[key] ?? ""} onChange={(value) => onChange({ [key]: value })}>
              <option value="">{t(`loops.any_${key}`)}</option>
              {choices[key].map((name) => <option key={name} value={name}>{name}</option>)}
            </Choice>
          ))}
          <Choice label={t("loops.by_since")} value={view.since ?? ""} onChange={(since) => onChange({ since })}>
            <option value="">{t("loops.any_since")}</option>
            {SPANS.map((name) => <option key={name} value={name}>{t(`loops.since_${name}`)}</option>)}
          </Choice>
          {used > 0 ? <Button tone="quiet" onClick={() => onChange(Object.fromEntries(MORE.map((key) => [key, ""])))}>{t("loops.clear_filters")}</Button> : null}
        </div>
      ) : null}
    </div>
  );
}

function Choice({ label, value, onChange, children, className }: { className?: string; label: string; value: string; onChange: (value: string) => void; children: ReactNode }) {
  return <select aria-label={label} title={label} className={clsx("field w-auto max-w-44 grow basis-28 sm:grow-0", className)} value={value} onChange={(event) => onChange(event.target.value)}>{children}</select>;
}
