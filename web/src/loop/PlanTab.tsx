import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { useTranslation } from "react-i18next";
import { get } from "../api/client";
import type { LoopView, PlanView } from "../api/types";
import { commit } from "../lib/format";
import { AgentText } from "../ui/AgentText";
import { Check, Dot, List, Ring } from "../ui/icons";
import { Empty, Loading, Problem } from "../ui/primitives";

const MARK: Record<string, typeof Check> = { done: Check, current: Dot, open: Ring };

export default function PlanTab({ loop }: { loop: LoopView }) {
  const { t } = useTranslation();
  const plan = useQuery({ queryKey: ["loop", loop.id, "plan"], queryFn: ({ signal }) => get<PlanView>(`/api/loops/${encodeURIComponent(loop.id)}/plan`, signal) });
  if (plan.error && !plan.data) return <Problem error={plan.error} onRetry={() => void plan.refetch()} />;
  if (!plan.data) return <Loading />;
  const { text } = plan.data;
  // While the whole is worked at, what is not done yet is under way and not to come.
  const whole = loop.review?.aim.type === "whole";
  const sections = plan.data.sections.map((section) => (whole && section.status === "open" ? { ...section, status: "current" } : section));
  const bodies = new Map((plan.data.plan?.sections ?? []).map((section) => [section.number, section.body]));
  if (sections.length === 0 && !text) return <Empty icon={<List />} title={t("plan.none")}>{t("plan.none_hint")}</Empty>;
  return (
    <div className="mx-auto max-w-6xl px-2 py-3 sm:px-4">
      {plan.data.plan?.preamble ? <div className="mb-3 text-sm text-soft"><AgentText text={plan.data.plan.preamble} /></div> : null}
      <ol className="space-y-2">
        {sections.map((section) => {
          const Mark = MARK[section.status] ?? Ring;
          return (
          <li key={section.number}>
            <details open={section.status === "current"} className={clsx("card", section.status === "current" && "border-run")}>
              <summary data-item className="flex flex-wrap items-baseline gap-2 px-3 py-2 text-sm">
                <Mark className={clsx("self-center", section.status === "done" ? "text-good" : section.status === "current" ? "text-run" : "text-faint")} />
                <span className="font-medium">{section.number}. {section.title}</span>
                <span className="text-xs text-soft">{t(`section.${section.status as "done" | "current" | "open"}`)}</span>
                {section.commit ? <code className="ml-auto text-xs text-faint">{commit(section.commit)}</code> : null}
              </summary>
              <div className="border-t border-line px-3 py-2 text-sm"><AgentText text={bodies.get(section.number) ?? ""} /></div>
            </details>
          </li>
          );
        })}
      </ol>
      {sections.length === 0 && text ? <div className="text-sm"><AgentText text={text} /></div> : null}
    </div>
  );
}
