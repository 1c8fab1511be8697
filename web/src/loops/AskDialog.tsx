import { Suspense, lazy, useState } from "react";
import { useTranslation } from "react-i18next";
import { mayMerge, useMergePreview } from "../loop/useMergePreview";
import { Dialog } from "../ui/Dialog";
import { Button, Field, Loading, Problem, Toggle } from "../ui/primitives";
import { useAct, type Asked, type Verb } from "./actions";
import { raiseBody, raiseOf } from "./raise";

const MergeFacts = lazy(() => import("../loop/MergeFacts"));
const RollbackChoice = lazy(() => import("../loop/RollbackChoice"));

const TEMPLATES = ["goal", "tests", "scope", "quality"] as const;
const needsText: Partial<Record<Verb, boolean>> = { steer: true, reject: true };
const mayHaveText: Partial<Record<Verb, boolean>> = { approve: true, continue: true };

export default function AskDialog({ asked: { loop, text: first, onDone }, verb, onClose }: { asked: Asked; verb: Exclude<Verb, "takeover" | "fork">; onClose: () => void }) {
  const { t } = useTranslation();
  const act = useAct();
  const reached = raiseOf(loop);
  const [text, setText] = useState(first ?? "");
  const [now, setNow] = useState(false);
  const [squash, setSquash] = useState(false);
  const [into, setInto] = useState("");
  const [raise, setRaise] = useState(reached.by);
  const [to, setTo] = useState<number | null>(null);
  const preview = useMergePreview(loop.id, into, squash, verb === "merge");
  const body = (): object => {
    switch (verb) {
      case "steer": return { message: text, now };
      case "reject": return { reason: text };
      case "approve": return text.trim() ? { reason: text } : {};
      case "merge": return { squash, ...(into.trim() ? { into: into.trim() } : {}) };
      case "continue": return { ...(text.trim() ? { goal: text } : {}), ...(loop.merge_refused ? { into: loop.merge_refused.target } : {}) };
      case "resume": return raiseBody(reached.limit, raise);
      case "rollback": return { to };
      case "pause": return { now };
      default: return {};
    }
  };
  const ready = (!needsText[verb] || text.trim().length > 0) && (verb !== "rollback" || to !== null) && (verb !== "merge" || (!preview.isPending && mayMerge(preview.data)));
  const submit = () => ready && act.mutate({ loop, verb, body: body() }, { onSuccess: () => { onDone?.(); onClose(); } });
  const fix = () => act.mutate({ loop, verb: "continue", body: preview.data ? { into: preview.data.into } : {} }, { onSuccess: onClose });
  const danger = verb === "stop" || verb === "reject" || verb === "rollback";
  return (
    <Dialog
      open
      onClose={onClose}
      wide={verb === "rollback" || verb === "merge" || Boolean(first)}
      title={t(`ask.${verb}.title`, { name: loop.name })}
      footer={
        <>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button tone={danger ? "danger" : "accent"} disabled={!ready || act.isPending} onClick={submit}>{t(`action.${verb}`)}</Button>
        </>
      }
    >
      <form className="space-y-3" onSubmit={(event) => { event.preventDefault(); submit(); }}>
        <p className="text-sm text-soft">{t(`ask.${verb}.text`)}</p>
        {verb === "merge" ? <Suspense fallback={<Loading lines={2} />}><MergeFacts loop={loop} preview={preview.data} error={preview.error} pending={preview.isPending} into={into} onInto={setInto} onFix={preview.data?.next ? fix : undefined} /></Suspense> : null}
        {verb === "rollback" ? <Suspense fallback={<Loading lines={3} />}><RollbackChoice loop={loop} to={to} onChoose={setTo} /></Suspense> : null}
        {needsText[verb] || mayHaveText[verb] ? (
          <Field label={t(verb === "steer" ? "ask.message" : verb === "continue" ? "ask.new_goal" : "ask.reason")} hint={needsText[verb] && !text.trim() ? t("ask.required") : undefined}>
            <textarea rows={first ? 12 : 4} className="field" value={text} onChange={(event) => setText(event.target.value)} onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(); }} />
          </Field>
        ) : null}
        {verb === "reject" ? (
          <div role="group" aria-label={t("ask.templates")} className="flex flex-wrap gap-1.5">
            {TEMPLATES.map((name) => <Button key={name} small onClick={() => setText((now) => `${now.trimEnd()}${now.trim() ? "\n" : ""}${t(`ask.template_${name}_text`)} `)}>{t(`ask.template_${name}`)}</Button>)}
          </div>
        ) : null}
        {verb === "steer" || verb === "pause" ? <Toggle label={t("ask.now")} checked={now} onChange={setNow} /> : null}
        {verb === "merge" ? <Toggle label={t("ask.squash")} checked={squash} onChange={setSquash} /> : null}
        {verb === "resume" ? (
          <Field label={t(`raise.${reached.limit}`)} hint={t("ask.raise_hint")}>
            <input type="number" min={0} step="any" className="field" value={raise} onChange={(event) => setRaise(Math.max(0, Number(event.target.value)))} />
          </Field>
        ) : null}
      </form>
      {verb === "merge" && act.isPending ? <p role="status" className="breathe mt-3 text-sm text-soft">{t(preview.data?.gates_passed || !preview.data?.gates.length ? "merge.merging" : "merge.judging")}</p> : null}
      {act.error ? <Problem error={act.error} /> : null}
    </Dialog>
  );
}
