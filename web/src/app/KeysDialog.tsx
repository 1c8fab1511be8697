import { useState } from "react";
import { useTranslation } from "react-i18next";
import { setShortcuts, shortcutsOn } from "../lib/keys";
import { Dialog } from "../ui/Dialog";
import { Toggle } from "../ui/primitives";

const GROUPS = [
  { title: "keys.everywhere", keys: [["?", "keys.help"], ["Ctrl+K", "palette.title"], ["g l", "keys.go_loops"], ["g n", "keys.go_new"], ["g q", "keys.go_queue"], ["g m", "keys.go_milestones"], ["g a", "keys.go_agents"], ["g u", "keys.go_usage"], ["g s", "keys.go_settings"], ["/", "keys.search"], ["Ctrl+Enter", "keys.send"]] },
  { title: "keys.in_list", keys: [["j", "keys.next"], ["k", "keys.previous"], ["Enter", "keys.open"], ["x", "keys.mark"], ["X", "keys.mark_all"], ["Esc", "keys.unmark"]] },
  { title: "keys.on_loop", keys: [["s", "keys.stop"], ["p", "keys.pause"], ["m", "keys.steer"], ["a", "keys.approve"], ["r", "keys.reject"], ["f", "keys.follow"], ["1 … 9", "keys.tab"]] },
  { title: "keys.in_search", keys: [["Enter", "keys.earlier_hit"], ["Shift+Enter", "keys.later_hit"], ["n", "keys.earlier_hit"], ["N", "keys.later_hit"], ["Esc", "keys.close"]] },
] as const;

export default function KeysDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const [on, setOn] = useState(shortcutsOn);
  return (
    <Dialog open onClose={onClose} title={t("keys.title")} wide>
      <div className="grid grid-cols-1 gap-x-8 gap-y-4 sm:grid-cols-2">
        {GROUPS.map((group) => (
          <section key={group.title}>
            <h2 className="mb-1.5">{t(group.title)}</h2>
            <dl className="grid grid-cols-[6.5rem_1fr] gap-y-1.5 text-sm">
              {group.keys.map(([key, text]) => (
                <div key={key} className="contents">
                  <dt>{key.split(" ").map((part, index) => (part === "…" ? <span key={index} className="mr-1">…</span> : <kbd key={index} className="mr-1">{part}</kbd>))}</dt>
                  <dd>{t(text)}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <div className="mt-4 border-t border-line pt-3">
        <Toggle label={t("keys.switch")} checked={on} onChange={(next) => { setShortcuts(next); setOn(next); }} />
      </div>
    </Dialog>
  );
}
