import clsx from "clsx";
import { useMemo, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Check, Chevron, Cross, Warn } from "../ui/icons";
import { plain } from "./ansi";
import { Marked } from "./AnsiText";
import { readReview, type Review } from "./review";

/** What a reviewer hands in: as what it means, and as it was written one click away. Until it is whole, and if it never is, as written. */
export function ReviewBlock({ text, find }: { text: string; find: string | undefined }) {
  const review = useMemo(() => readReview(text), [text]);
  const written = text.split("\n").map(plain).join("\n");
  const marked = (words: string) => (find ? <Marked text={words} find={find} /> : words);
  if (!review) return <div className="output px-3">{marked(written)}</div>;
  return <Card review={review} written={marked(written)} marked={marked} />;
}

const SUMMARY = ["done", "deviations", "follow_ups"] as const;

function Card({ review, written, marked }: { review: Review; written: ReactNode; marked: (words: string) => ReactNode }) {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const good = review.verdict === "clean" || review.verdict === "accepted";
  return (
    <section data-review={review.verdict} aria-label={t("review.title")} className={clsx("mx-3 my-1.5 overflow-hidden rounded border border-l-[3px] border-line bg-panel text-xs", good ? "border-l-good" : "border-l-bad")}>
      <h4 className={clsx("flex items-center gap-1.5 px-2.5 py-1.5 font-semibold", good ? "bg-good-soft text-good" : "bg-bad-soft text-bad")}>
        {good ? <Check className="size-3.5 shrink-0" /> : <Cross className="size-3.5 shrink-0" />}{t("review.title")} · {t(`ruling.${review.verdict}`)}
      </h4>
      <div className="space-y-2 px-2.5 py-2 break-words empty:hidden">
        {review.reason ? <p className="whitespace-pre-wrap">{marked(review.reason)}</p> : null}
        {review.findings.length > 0 ? (
          <ul className="space-y-2">
            {review.findings.map((finding, index) => {
              const isBug = finding.severity === "bug";
              return (
                <li key={index} className={clsx("border-l-2 pl-2", isBug ? "border-bad" : "border-wait")}>
                  <p className="flex flex-wrap items-baseline gap-x-2">
                    <span className={clsx("font-semibold", isBug ? "text-bad" : "text-wait")}>{isBug ? <Cross className="inline size-3 align-[-1px]" /> : <Warn className="inline size-3 align-[-1px]" />} {t(`severity.${finding.severity}`)}</span>
                    <code className="break-all text-soft">{marked(finding.file)}{finding.line ? `:${finding.line}` : ""}</code>
                  </p>
                  <p className="whitespace-pre-wrap">{marked(finding.description)}</p>
                  {finding.scenario ? <p className="whitespace-pre-wrap text-soft">{marked(finding.scenario)}</p> : null}
                </li>
              );
            })}
          </ul>
        ) : null}
        {review.resolved.length > 0 ? <p className="flex flex-wrap items-baseline gap-x-2"><span className="text-soft">{t("review.resolved")}</span>{review.resolved.map((id, index) => <code key={index} className="break-all">{marked(id)}</code>)}</p> : null}
        {SUMMARY.map((part) => (review.summary[part].length > 0 ? <Points key={part} title={t(`review.${part}`)}>{review.summary[part].map((words, index) => <li key={index} className="whitespace-pre-wrap">{marked(words)}</li>)}</Points> : null))}
        {review.adjustments.length > 0 ? (
          <Points title={t("review.adjusted")}>
            {review.adjustments.map((adjustment, index) => <li key={index}>{t("plan.section", { number: adjustment.section })}: {marked(adjustment.rationale)}<p className="whitespace-pre-wrap text-soft">{marked(adjustment.body)}</p></li>)}
          </Points>
        ) : null}
      </div>
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)} className="flex w-full items-center gap-1.5 border-t border-line px-2.5 py-1 text-left text-soft hover:bg-sunken">
        <Chevron className={clsx("size-3 shrink-0 transition-transform", isOpen && "rotate-90")} />{t("review.as_written")}
      </button>
      {isOpen ? <pre tabIndex={0} className="output max-h-96 overflow-auto border-t border-line bg-sunken px-2 py-1.5">{written}</pre> : null}
    </section>
  );
}

function Points({ title, children }: { title: string; children: ReactNode }) {
  return <div><p className="text-soft">{title}</p><ul className="list-disc space-y-0.5 pl-4">{children}</ul></div>;
}
