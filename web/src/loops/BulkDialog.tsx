import { useTranslation } from "react-i18next";
import type { LoopSummary } from "../api/types";
import { Dialog } from "../ui/Dialog";
import { Button } from "../ui/primitives";
import type { BulkVerb } from "./bulk";

const NAMED = 8;

/** What a bulk action is about to do, and to which loops. */
export default function BulkDialog({ verb, chosen, skipped, left, onClose, onAct }: { verb: BulkVerb; chosen: readonly LoopSummary[]; skipped: number; left: number; onClose: () => void; onAct: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog open onClose={onClose} title={t(`bulk.ask_${verb}`, { count: chosen.length })} footer={<><Button onClick={onClose}>{t("action.cancel")}</Button><Button tone={verb === "stop" || verb === "clean" ? "danger" : "accent"} disabled={left > 0} onClick={onAct}>{left > 0 ? t("bulk.left", { count: left }) : t(`bulk.${verb}`)}</Button></>}>
      <p className="mb-2 text-sm text-soft">{t(`bulk.text_${verb}`)}</p>
      <ul className="list-disc pl-5 text-sm">{chosen.slice(0, NAMED).map((loop) => <li key={loop.id} className="break-words">{loop.name}</li>)}</ul>
      {chosen.length > NAMED ? <p className="pl-5 text-sm text-soft">{t("bulk.more", { count: chosen.length - NAMED })}</p> : null}
      {skipped > 0 ? <p className="mt-2 text-sm text-wait">{t("bulk.skipped", { count: skipped })}</p> : null}
    </Dialog>
  );
}
