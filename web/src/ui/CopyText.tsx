import { useTranslation } from "react-i18next";
import { say } from "../lib/toast";
import { Copy } from "./icons";
import { IconButton } from "./primitives";

/** A text that people paste elsewhere, with a button that copies it. */
export function CopyText({ text, shown = text, title }: { text: string; shown?: string; title?: string }) {
  const { t } = useTranslation();
  const copy = () => void navigator.clipboard.writeText(text).then(() => say(t("prompts.copied")), () => say(t("action.copy_failed"), { bad: true }));
  return (
    <span className="inline-flex max-w-full min-w-0 items-center gap-1 rounded bg-sunken pl-1.5" title={title ?? text}>
      <code className="truncate text-xs">{shown}</code>
      <IconButton small label={`${t("action.copy")}: ${shown}`} className="size-6" onClick={copy}><Copy className="size-3.5" /></IconButton>
    </span>
  );
}
