import { useTranslation } from "react-i18next";
import type { AgentReport } from "../api/types";
import { Field, Toggle } from "../ui/primitives";
import { AgentOptions } from "./agentChoice";
import { MOST_TRIES, choicesOf, type LoopForm, type TryChoice } from "./newLoop";

interface Props {
  form: LoopForm;
  agents: AgentReport[];
  /** The agent is a command, which every try runs. */
  own: boolean;
  usual: string | undefined;
  error: string | null;
  onChange: (part: Partial<LoopForm>) => void;
}

/** How often the goal is tried, and by whom. */
export function TriesFields({ form, agents, own, usual, error, onChange }: Props) {
  const { t } = useTranslation();
  const choices = choicesOf(form);
  const choose = (index: number, part: Partial<TryChoice>) => onChange({ tryChoices: choices.map((each, at) => (at === index ? { ...each, ...part } : each)) });
  return (
    <div data-tries-form className="card space-y-3 px-3 py-3">
      <Field label={t("tries.form")} hint={t(form.tries > 1 ? "tries.form_hint" : "tries.form_single")} error={error}>
        <input name="tries" type="number" min={1} max={MOST_TRIES} className="field w-24" value={form.tries} onChange={(event) => onChange({ tries: Math.min(MOST_TRIES, Math.max(1, Math.round(Number(event.target.value)) || 1)) })} />
      </Field>
      {form.tries > 1 ? (
        <>
          {own ? null : (
            <ol className="space-y-1.5">
              {choices.map((choice, index) => (
                <li key={index} className="grid grid-cols-[1.5rem_minmax(0,1fr)_minmax(0,1fr)] items-center gap-2">
                  <span className="figures text-sm text-soft">{index + 1}</span>
                  <select name={`try_${index + 1}`} aria-label={t("tries.agent_of", { number: index + 1 })} className="field" value={choice.agent} onChange={(event) => choose(index, { agent: event.target.value })}>
                    <option value="">{usual ? t("tries.same_as", { agent: usual }) : t("tries.same")}</option>
                    <AgentOptions agents={agents} />
                  </select>
                  <input name={`try_model_${index + 1}`} aria-label={t("tries.model_of", { number: index + 1 })} className="field" placeholder={(!choice.agent && form.model) || t("new.model_default")} value={choice.model} onChange={(event) => choose(index, { model: event.target.value })} />
                </li>
              ))}
            </ol>
          )}
          <Toggle label={t("tries.first")} checked={form.first} onChange={(first) => onChange({ first })} />
          <Toggle label={t("tries.drop")} checked={form.losers === "drop"} onChange={(drop) => onChange({ losers: drop ? "drop" : "keep" })} />
        </>
      ) : null}
    </div>
  );
}
