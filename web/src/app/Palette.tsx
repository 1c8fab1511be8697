import clsx from "clsx";
import { useNavigate } from "@tanstack/react-router";
import { Fragment, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { baseName } from "../lib/format";
import { useLoops } from "../loops/useLoops";
import { Search } from "../ui/icons";
import { Dialog } from "../ui/Dialog";
import { matching, useAllCommands, type Command } from "./commands";

type Offered = Command & { more?: string };
const MOST_LOOPS = 20;

/** Every page, every action of what is open, and every loop, a few letters away. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const commands = useAllCommands();
  const loops = useLoops();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const shown = useMemo((): Offered[] => {
    const ofLoops = (loops.data ?? []).map((loop): Offered => ({ id: `loop ${loop.id}`, group: t("nav.loops"), label: loop.name, more: `${baseName(loop.project)} ${loop.goal}`, run: () => void navigate({ to: "/loops/$id", params: { id: loop.id } }) }));
    return [...matching(commands, text), ...matching(ofLoops, text).slice(0, MOST_LOOPS)];
  }, [commands, loops.data, text, t, navigate]);
  const current = Math.min(at, shown.length - 1);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [current]);
  const run = (command: Offered | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  return (
    <Dialog open onClose={onClose} title={t("palette.title")} wide>
      <div className="relative">
        <Search className="pointer-events-none absolute top-2.5 left-2.5 text-faint" />
        <input
          role="combobox"
          aria-expanded
          aria-controls="palette-list"
          aria-activedescendant={current >= 0 ? `palette-${current}` : undefined}
          aria-label={t("palette.title")}
          placeholder={t("palette.hint")}
          className="field pl-8"
          value={text}
          onChange={(event) => { setText(event.target.value); setAt(0); }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") setAt(Math.min(shown.length - 1, current + 1));
            else if (event.key === "ArrowUp") setAt(Math.max(0, current - 1));
            else if (event.key === "Enter") run(shown[current]);
            else return;
            event.preventDefault();
          }}
        />
      </div>
      <ul ref={list} id="palette-list" role="listbox" aria-label={t("palette.title")} className="mt-2 max-h-[50vh] min-h-40 overflow-auto">
        {shown.map((command, index) => (
          <Fragment key={command.id}>
            {shown[index - 1]?.group !== command.group ? <li role="presentation" className="px-2 pt-2 pb-0.5 text-xs text-faint">{command.group}</li> : null}
            <li id={`palette-${index}`} role="option" aria-selected={index === current} onClick={() => run(command)} onPointerMove={() => setAt(index)} className={clsx("flex min-h-8 cursor-pointer items-center gap-2 rounded px-2 text-sm", index === current && "bg-accent-soft")}>
              <span className="min-w-0 truncate">{command.label}</span>
              {command.more ? <span className="min-w-0 truncate text-xs text-soft">{command.more}</span> : null}
              {command.keys ? <span className="ml-auto shrink-0">{command.keys.split(" ").map((key) => <kbd key={key} className="ml-1 text-xs">{key}</kbd>)}</span> : null}
            </li>
          </Fragment>
        ))}
        {shown.length === 0 ? <li role="presentation" className="px-2 py-6 text-center text-sm text-soft">{t("palette.none")}</li> : null}
      </ul>
    </Dialog>
  );
}
