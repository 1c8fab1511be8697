// The settings, made from the JSON Schema: a new key of the program is a new field here, without a line of code.

import Form from "@rjsf/core";
import type { ArrayFieldTemplateProps, FieldProps, FieldTemplateProps, ObjectFieldTemplateProps, RJSFSchema, UiSchema, WidgetProps } from "@rjsf/utils";
import { useMemo, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { serverWords, settingWords } from "../i18n/server";
import { Button, Switch } from "../ui/primitives";
import { groupOf, GROUPS } from "./groups";
import { validator } from "./validator";

export interface Origin {
  value: unknown;
  unset: string;
  origin: string;
  layer: string;
}

interface Context {
  origins: Map<string, Origin>;
  search: string;
  layer: string;
}

interface Props {
  schema: RJSFSchema;
  value: Record<string, unknown>;
  origins: Map<string, Origin>;
  layer: string;
  busy: boolean;
  search: string;
  onSearch: (words: string) => void;
  onSave: (changes: Record<string, unknown>) => void;
}

export function SchemaForm({ schema, value, origins, layer, busy, search, onSearch, onSave }: Props) {
  const { t } = useTranslation();
  const [data, setData] = useState(value);
  const changes = useMemo(() => changed(value, data), [value, data]);
  const count = Object.keys(changes).length;
  const ui = useMemo(() => uiFor(schema), [schema]);
  const context: Context = { origins, search: search.toLowerCase(), layer };
  return (
    <div className="settings-form">
      <input type="search" aria-label={t("settings.search")} placeholder={t("settings.search")} className="field mb-3 max-w-sm" value={search} onChange={(event) => onSearch(event.target.value)} />
      <Form
        schema={schema} uiSchema={ui} formData={data} validator={validator as never} formContext={context as never} liveValidate="onChange" noHtml5Validate showErrorList={false} omitExtraData={false}
        onChange={(event: { formData?: unknown }) => setData(prune((event.formData ?? {}) as Record<string, unknown>))}
        onSubmit={() => onSave(changes)}
        templates={{ FieldTemplate, ObjectFieldTemplate, ArrayFieldTemplate: PlainArray } as never}
        widgets={{ TextWidget, SelectWidget, CheckboxWidget, UpDownWidget: TextWidget } as never}
        fields={{ lines: LinesField, json: JsonField } as never}
      >
        <div className="sticky bottom-0 flex items-center justify-end gap-3 border-t border-line bg-ground py-3">
          <span className="text-sm text-soft">{count > 0 ? t("settings.changed", { count }) : t("settings.unchanged")}</span>
          <Button disabled={count === 0 || busy} onClick={() => setData(value)}>{t("action.cancel")}</Button>
          <Button type="submit" tone="accent" disabled={count === 0 || busy}>{t("action.save")}</Button>
        </div>
      </Form>
    </div>
  );
}

/** Fields that were emptied are not there, rather than empty. */
function prune(data: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0)));
}

export function changed(before: Record<string, unknown>, after: Record<string, unknown>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (JSON.stringify(before[key]) !== JSON.stringify(after[key])) out[key] = after[key] ?? null;
  }
  return out;
}

function uiFor(schema: RJSFSchema): UiSchema {
  const ui: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(schema.properties ?? {})) {
    const items = (field as { items?: { type?: string } }).items;
    const type = (field as { type?: string | string[] }).type;
    if (items?.type === "string") ui[key] = { "ui:field": "lines" };
    else if (type === "array" || type === "object") ui[key] = { "ui:field": "json" };
  }
  return ui;
}

function FieldTemplate({ id, label, children, errors, rawErrors, schema, hidden, registry }: FieldTemplateProps) {
  const context = registry.formContext as unknown as Context;
  const key = id.replace(/^root_?/, "");
  if (hidden || key === "") return <>{children}</>;
  const origin = context.origins.get(key);
  const inherited = origin && origin.layer !== context.layer;
  return (
    <div className="grid gap-1 py-2.5 sm:grid-cols-[minmax(0,1fr)_minmax(0,1.1fr)] sm:gap-6">
      <div className="min-w-0">
        <label htmlFor={id} className="font-mono text-[13px] font-medium">{label}</label>
        {schema.description ? <p className="text-xs text-soft">{settingWords(key, schema.description)}</p> : null}
      </div>
      <div className="min-w-0">
        {children}
        {origin ? <p className="mt-0.5 text-xs break-words text-faint">{inherited && origin.value != null ? `${show(origin.value)} · ` : origin.value == null ? `${serverWords(origin.unset)} · ` : ""}{serverWords(origin.origin)}</p> : null}
        {(rawErrors ?? []).length > 0 ? <div role="alert" className="text-xs font-medium text-bad">{errors}</div> : null}
      </div>
    </div>
  );
}

const show = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

function ObjectFieldTemplate({ properties, registry }: ObjectFieldTemplateProps) {
  const { t } = useTranslation();
  const context = registry.formContext as unknown as Context;
  const shown = properties.filter((property) => !property.hidden && (!context.search || `${property.name} ${settingWords(property.name, (property.content as { props?: { schema?: { description?: string } } }).props?.schema?.description) ?? ""}`.toLowerCase().includes(context.search)));
  return (
    <div className="space-y-2">
      {GROUPS.map((group): ReactNode => {
        const here = shown.filter((property) => groupOf(property.name) === group);
        if (here.length === 0) return null;
        return (
          <details key={group} open={group === "loop" || context.search !== ""} className="card px-4 py-2">
            <summary className="text-sm font-semibold">{t(`settings.group_${group}`)} <span className="figures font-normal text-soft">{here.length}</span></summary>
            <div className="divide-y divide-line">{here.map((property) => <div key={property.name}>{property.content}</div>)}</div>
          </details>
        );
      })}
    </div>
  );
}

function PlainArray({ items }: ArrayFieldTemplateProps) {
  return <div>{items as unknown as ReactNode}</div>;
}

function TextWidget({ id, value, onChange, schema, disabled }: WidgetProps) {
  const type = Array.isArray(schema.type) ? schema.type.find((name) => name !== "null") : schema.type;
  const number = type === "integer" || type === "number";
  return <input id={id} disabled={disabled} type={number ? "number" : "text"} step={type === "number" ? "any" : 1} min={schema.minimum} max={schema.maximum} className="field" value={(value as string | number | undefined) ?? ""} onChange={(event) => onChange(event.target.value === "" ? undefined : number ? Number(event.target.value) : event.target.value)} />;
}

function SelectWidget({ id, value, onChange, options }: WidgetProps) {
  const { t } = useTranslation();
  const values = options.enumOptions ?? [];
  return (
    <select id={id} className="field" value={value === undefined ? "" : String(value)} onChange={(event) => onChange(event.target.value === "" ? undefined : values.find((option) => String(option.value) === event.target.value)?.value)}>
      <option value="">{t("settings.unset")}</option>
      {values.map((option) => <option key={String(option.value)} value={String(option.value)}>{option.label}</option>)}
    </select>
  );
}

/** Three ways: said yes, said no, not said. */
function CheckboxWidget({ id, value, onChange, label }: WidgetProps) {
  const { t } = useTranslation();
  return (
    <div className="flex min-h-9 items-center gap-3">
      <Switch id={id} label={label} checked={value === true} onChange={onChange} />
      {value !== undefined ? <Button small tone="quiet" onClick={() => onChange(undefined)}>{t("settings.reset")}</Button> : null}
    </div>
  );
}

/** A list of texts, one a line. */
function LinesField({ formData, onChange, fieldPathId }: FieldProps) {
  const { t } = useTranslation();
  const [text, setText] = useState(((formData as string[] | undefined) ?? []).join("\n"));
  const id = fieldPathId.$id;
  return <textarea id={id} rows={2} className="field font-mono" placeholder={t("settings.one_a_line")} value={text} onChange={(event) => { setText(event.target.value); const lines = event.target.value.split("\n").filter((line) => line.trim()); onChange(lines.length > 0 ? lines : undefined, fieldPathId.path); }} />;
}

/** What has a shape of its own is written as JSON; a list of plain texts may be written as lines. */
function JsonField({ formData, onChange, fieldPathId }: FieldProps) {
  const { t } = useTranslation();
  const plainLines = Array.isArray(formData) && formData.every((entry) => typeof entry === "string");
  const [text, setText] = useState(formData === undefined ? "" : plainLines ? (formData as string[]).join("\n") : JSON.stringify(formData, null, 2));
  const [wrong, setWrong] = useState(false);
  const read = (next: string) => {
    setText(next);
    if (!next.trim()) { setWrong(false); onChange(undefined, fieldPathId.path); return; }
    try {
      onChange(/^\s*[[{]/.test(next) ? JSON.parse(next) : next.split("\n").filter((line) => line.trim()), fieldPathId.path);
      setWrong(false);
    } catch {
      setWrong(true);
    }
  };
  return (
    <>
      <textarea id={fieldPathId.$id} rows={3} aria-invalid={wrong} className="field font-mono text-xs" placeholder={t("settings.one_a_line")} value={text} onChange={(event) => read(event.target.value)} />
      {wrong ? <p role="alert" className="text-xs font-medium text-bad">{t("settings.no_json")}</p> : null}
    </>
  );
}
