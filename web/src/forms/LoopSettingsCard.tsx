import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button, Field, Slider, Switch } from "../ui/primitives";

export interface LoopSettings {
  loop_enabled?: boolean | null;
  max_iterations?: number | null;
  completion_promise?: string | null;
}

/** Whether an agent loops by itself, how often at most, and what it says when it is done. What depends on the switch is shown only when it is on. */
export function LoopSettingsCard({ agent, value, busy, onSave }: { agent: string; value: LoopSettings; busy: boolean; onSave: (next: LoopSettings) => void }) {
  const { t } = useTranslation();
  const [enabled, setEnabled] = useState(value.loop_enabled ?? false);
  const [max, setMax] = useState(value.max_iterations ?? 5);
  const [promise, setPromise] = useState(value.completion_promise ?? "");
  const changed = enabled !== (value.loop_enabled ?? false) || (enabled && (max !== (value.max_iterations ?? 5) || promise !== (value.completion_promise ?? "")));
  return (
    <section aria-label={`${t("card.title")}: ${agent}`} data-agent={agent} className="card px-4 py-3">
      <div className="flex items-center justify-between gap-3">
        <h3 className="font-medium">{agent}</h3>
        <label className="flex items-center gap-2 text-sm">{t("card.enable")} <Switch label={`${t("card.enable")}: ${agent}`} checked={enabled} onChange={setEnabled} /></label>
      </div>
      {enabled ? (
        <div className="mt-3 space-y-3">
          <div>
            <p className="text-sm font-medium">{t("card.max", { count: max })}</p>
            <Slider min={1} max={100} value={max} onChange={setMax} label={t("card.max", { count: max })} />
            <p className="text-xs text-soft">{t("card.max_hint")}</p>
          </div>
          <Field label={t("card.promise")} hint={t("card.promise_hint")}>
            <input className="field font-mono" placeholder={t("card.promise_example")} value={promise} onChange={(event) => setPromise(event.target.value)} />
          </Field>
        </div>
      ) : null}
      {changed ? (
        <div className="mt-3 flex justify-end gap-2">
          <Button small tone="accent" disabled={busy} onClick={() => onSave(enabled ? { loop_enabled: true, max_iterations: max, completion_promise: promise || null } : { loop_enabled: false })}>{t("action.save")}</Button>
        </div>
      ) : null}
    </section>
  );
}
