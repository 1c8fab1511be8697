import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { send } from "../api/client";
import type { TakeoverReport } from "../api/types";
import type { Target } from "../loops/actions";
import { LOOPS } from "../loops/useLoops";
import { CopyText } from "../ui/CopyText";
import { Dialog } from "../ui/Dialog";
import { Button, Problem } from "../ui/primitives";
import { useRole } from "./roles";

/** Pauses the loop and says where a person continues by hand. */
export default function Takeover({ loop, onClose }: { loop: Target; onClose: () => void }) {
  const { t } = useTranslation();
  const role = useRole();
  const queries = useQueryClient();
  const take = useMutation({
    mutationFn: () => send<TakeoverReport>("POST", `/api/loops/${encodeURIComponent(loop.id)}/takeover`),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: LOOPS });
      void queries.invalidateQueries({ queryKey: ["loop", loop.id] });
    },
  });
  const report = take.data;
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={t("takeover.title", { name: loop.name })}
      footer={report ? <Button tone="accent" onClick={onClose}>{t("action.close")}</Button> : <><Button onClick={onClose}>{t("action.cancel")}</Button><Button tone="accent" disabled={take.isPending} onClick={() => take.mutate()}>{t("action.takeover")}</Button></>}
    >
      {report ? (
        <div data-takeover className="space-y-3 text-sm">
          <div><p className="mb-1 text-soft">{t("takeover.dir")}</p><CopyText text={`cd ${shellWord(report.dir)}`} /></div>
          {report.sessions.map((session) => <div key={session.command}><p className="mb-1 text-soft">{t("takeover.session", { role: role(session.role) })}</p><CopyText text={session.command} /></div>)}
          <div><p className="mb-1 text-soft">{t("takeover.back")}</p><CopyText text={`windlass resume ${report.name}`} /></div>
        </div>
      ) : <p className="text-sm text-soft">{t("takeover.text")}</p>}
      {take.error ? <Problem error={take.error} /> : null}
    </Dialog>
  );
}

/** Quoted for a shell unless it needs no quotes. */
const shellWord = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
