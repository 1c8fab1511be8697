// The page's building blocks: plain elements with one look. What needs Radix is in files of its own, which the first page does
// not load.

import clsx from "clsx";
import { Children, cloneElement, forwardRef, isValidElement, useId, type ComponentProps, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Refusal, Unreachable } from "../api/client";
import { hintWords, problemWords } from "../api/problem";

type Tone = "plain" | "accent" | "danger" | "quiet";
const TONES: Record<Tone, string> = {
  plain: "border-line-strong bg-panel text-ink hover:bg-sunken",
  accent: "border-transparent bg-accent text-accent-ink hover:brightness-110",
  danger: "border-bad bg-panel text-bad hover:bg-bad-soft",
  quiet: "border-transparent text-soft hover:bg-sunken hover:text-ink",
};

export const Button = forwardRef<HTMLButtonElement, ComponentProps<"button"> & { tone?: Tone; small?: boolean }>(function Button(
  { tone = "plain", small = false, className, type = "button", ...rest },
  ref,
) {
  return (
    <button ref={ref} type={type} className={clsx("inline-flex items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap transition-colors disabled:opacity-55", small ? "min-h-7 px-2 text-xs" : "min-h-9 px-3 text-sm", TONES[tone], className)} {...rest} />
  );
});

/** An icon with a name: the name is read aloud and shown on hover. */
export function IconButton({ label, children, className, small = false, ...rest }: ComponentProps<"button"> & { label: string; small?: boolean }) {
  return (
    <button type="button" aria-label={label} title={label} className={clsx("inline-flex shrink-0 items-center justify-center rounded-md text-soft hover:bg-sunken hover:text-ink disabled:opacity-40", small ? "size-7" : "size-8", className)} {...rest}>
      {children}
    </button>
  );
}

export function Switch({ checked, onChange, label, id }: { checked: boolean; onChange: (checked: boolean) => void; label: string; id?: string }) {
  return (
    <button type="button" role="switch" id={id} aria-checked={checked} aria-label={label} onClick={() => onChange(!checked)} className={clsx("relative h-6 w-11 shrink-0 rounded-full border", checked ? "border-accent bg-accent" : "border-line-strong bg-sunken")}>
      <span className={clsx("block size-4.5 rounded-full transition-transform", checked ? "translate-x-[1.35rem] bg-accent-ink" : "translate-x-0.5 bg-line-strong")} />
    </button>
  );
}

/** A switch with its words in front. */
export function Toggle({ label, checked, onChange }: { label: string; checked: boolean; onChange: (checked: boolean) => void }) {
  return <div className="flex items-center justify-between gap-3 text-sm"><span>{label}</span><Switch label={label} checked={checked} onChange={onChange} /></div>;
}

export function Slider({ value, min, max, label, onChange }: { value: number; min: number; max: number; label: string; onChange: (value: number) => void }) {
  return <input type="range" aria-label={label} value={value} min={min} max={max} onChange={(event) => onChange(event.target.valueAsNumber)} className="h-6 w-full accent-accent" />;
}

/** Nothing here, and why, and what to do about it. */
export function Empty({ title, children, icon }: { title: string; children?: ReactNode; icon?: ReactNode }) {
  return (
    <div className="flex flex-col items-center justify-center gap-2 px-6 py-14 text-center text-soft">
      {icon ? <div className="text-faint [&_svg]:size-8">{icon}</div> : null}
      <p className="text-base font-medium text-ink">{title}</p>
      {children ? <div className="max-w-prose text-sm">{children}</div> : null}
    </div>
  );
}

export function Loading({ lines = 4 }: { lines?: number }) {
  const { t } = useTranslation();
  return (
    <div role="status" className="space-y-2.5 p-4">
      <span className="sr-only">{t("state.loading")}</span>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} className={clsx("breathe h-4 rounded bg-sunken", ["w-11/12", "w-3/4", "w-5/6", "w-2/3"][index % 4])} />
      ))}
    </div>
  );
}

/** A refusal in the server's words, with its hint; anything else in ours. */
export function Problem({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const { t } = useTranslation();
  const refusal = error instanceof Refusal ? error.problem : undefined;
  const [said, ...detail] = refusal ? problemWords(refusal, t) : [];
  const message = said ?? (error instanceof Unreachable ? t("state.unreachable") : String((error as Error | undefined)?.message ?? error));
  const hint = (refusal && hintWords(refusal)) ?? (error instanceof Unreachable ? t("state.unreachable_hint") : undefined);
  return (
    <div role="alert" className="m-3 rounded-md border border-bad bg-bad-soft px-3 py-2 text-sm text-bad">
      <p className="font-medium break-words">{message}</p>
      {detail.length > 0 ? <p className="break-words">{detail.join(" ")}</p> : null}
      {refusal?.causes?.length ? <ul className="output mt-1 max-h-60 overflow-auto text-xs">{refusal.causes.map((cause, index) => <li key={index} className="break-words">{cause}</li>)}</ul> : null}
      {hint ? <p className="mt-1 break-words text-ink">{hint}</p> : null}
      {onRetry ? <Button small className="mt-2" onClick={onRetry}>{t("action.retry")}</Button> : null}
    </div>
  );
}

/** A label with its field; the hint is a description, not a part of the name. The first child is the field itself. */
export function Field({ label, hint, error, children }: { label: string; hint?: ReactNode; error?: string | null | undefined; children: ReactNode }) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ") || undefined;
  const parts = Children.toArray(children);
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">{label}</label>
      {parts.map((child, index) => (index === 0 && isValidElement<object>(child) ? cloneElement(child, { id, "aria-describedby": described, "aria-invalid": error ? true : undefined } as object) : child))}
      {hint ? <p id={`${id}-hint`} className="mt-1 text-xs text-soft">{hint}</p> : null}
      {error ? <p id={`${id}-error`} role="alert" className="mt-1 text-xs font-medium text-bad">{error}</p> : null}
    </div>
  );
}
