import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import clsx from "clsx";
import { useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { hasSession, logOut } from "../api/session";
import { languages, setLanguage } from "../i18n";
import { useKeys } from "../lib/keys";
import { useLiveLoops } from "../loops/useLoops";
import { dismiss, toastStore } from "../lib/toast";
import { Cross, Flag, Gear, Half, Keyboard, List, Plus, Robot } from "../ui/icons";
import { IconButton, Menu, MenuItem } from "../ui/primitives";
import { useConnection } from "./connection";
import { KeysDialog } from "./KeysDialog";
import { useTheme, type Theme } from "./theme";

const PLACES = [
  { to: "/", key: "nav.loops", icon: List },
  { to: "/new", key: "nav.new", icon: Plus },
  { to: "/milestones", key: "nav.milestones", icon: Flag },
  { to: "/agents", key: "nav.agents", icon: Robot },
  { to: "/settings", key: "nav.settings", icon: Gear },
] as const;

export function Shell() {
  const { t, i18n } = useTranslation();
  const [theme, setTheme] = useTheme();
  const [keysShown, showKeys] = useState(false);
  const navigate = useNavigate();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const go = (to: (typeof PLACES)[number]["to"]) => () => void navigate({ to });
  useKeys({ "?": () => showKeys(true), "g l": go("/"), "g n": go("/new"), "g m": go("/milestones"), "g a": go("/agents"), "g s": go("/settings") });
  useLiveLoops(!path.startsWith("/loops/"));
  const isHere = (to: string) => (to === "/" ? path === "/" || path.startsWith("/loops") : path.startsWith(to));
  return (
    <div className="flex h-full flex-col">
      <a href="#main" className="sr-only z-50 rounded bg-accent px-3 py-2 text-accent-ink focus:not-sr-only focus:absolute focus:top-2 focus:left-2">{t("nav.skip")}</a>
      <header className="flex items-center gap-1 border-b border-line bg-panel px-2 sm:px-4">
        <Link to="/" className="mr-1 flex items-center gap-2 py-2 font-semibold sm:mr-4" aria-label="Windlass">
          <Mark />
          <span className="hidden md:inline">Windlass</span>
        </Link>
        <nav aria-label={t("nav.label")} className="flex grow justify-between sm:justify-start sm:gap-1">
          {PLACES.map(({ to, key, icon: Icon }) => (
            <Link key={to} to={to} aria-current={isHere(to) ? "page" : undefined} className={clsx("flex min-h-11 min-w-11 flex-col items-center justify-center gap-0.5 border-b-2 px-1 text-[11px] sm:flex-row sm:gap-1.5 sm:px-2.5 sm:text-sm", isHere(to) ? "border-accent font-medium text-ink" : "border-transparent text-soft hover:text-ink")}>
              <Icon />
              <span>{t(key)}</span>
            </Link>
          ))}
        </nav>
        <ConnectionMark />
        <span className="hidden sm:block"><IconButton label={t("keys.title")} onClick={() => showKeys(true)}><Keyboard /></IconButton></span>
        <Menu trigger={<IconButton label={t("nav.preferences")}><Half /></IconButton>}>
          <p className="px-2 pt-1 text-xs text-soft">{t("theme.label")}</p>
          {(["system", "light", "dark"] as Theme[]).map((name) => (
            <MenuItem key={name} checked={theme === name} onSelect={() => setTheme(name)}>{t(`theme.${name}`)}</MenuItem>
          ))}
          <p className="border-t border-line px-2 pt-2 text-xs text-soft">{t("nav.language")}</p>
          {languages.map(({ code, name }) => (
            <MenuItem key={code} checked={i18n.language === code} onSelect={() => void setLanguage(code)}><span lang={code}>{name}</span></MenuItem>
          ))}
          {hasSession() ? (
            <div className="mt-1 border-t border-line pt-1">
              <MenuItem onSelect={() => void logOut().then(() => location.assign("/"))}>{t("login.log_out")}</MenuItem>
            </div>
          ) : null}
        </Menu>
      </header>
      <ConnectionBar />
      <main id="main" tabIndex={0} className="min-h-0 grow overflow-auto outline-none">
        <Outlet />
      </main>
      <Toasts />
      <KeysDialog open={keysShown} onClose={() => showKeys(false)} />
    </div>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden>
      <rect width="32" height="32" rx="7" fill="#0f5f6b" />
      <g fill="none" stroke="#f4d9a4" strokeWidth="2.4" strokeLinecap="round"><circle cx="16" cy="16" r="6.2" /><path d="M16 4.5v5.3M16 22.2v5.3M4.5 16h5.3M22.2 16h5.3" /></g>
      <circle cx="16" cy="16" r="2" fill="#f4d9a4" />
    </svg>
  );
}

function ConnectionMark() {
  const { t } = useTranslation();
  const state = useConnection();
  const good = state === "open";
  return (
    <span data-connection={state} title={t(`connection.${state}`)} className={clsx("flex items-center gap-1.5 px-1 text-xs", good ? "text-run" : "text-wait")}>
      <span aria-hidden className={clsx("inline-block size-2 rounded-full", good ? "bg-run" : "breathe border-2 border-wait")} />
      <span className="sr-only lg:not-sr-only">{t(`connection.${state}`)}</span>
    </span>
  );
}

function ConnectionBar() {
  const { t } = useTranslation();
  const state = useConnection();
  if (state !== "lost" && state !== "denied") return null;
  return (
    <div role="alert" className="border-b border-wait bg-wait-soft px-4 py-1.5 text-sm text-wait">
      <strong>{t(state === "lost" ? "connection.lost_title" : "connection.denied_title")}</strong>{" "}
      <span className="text-ink">{t(state === "lost" ? "connection.lost_hint" : "connection.denied_hint")}</span>
    </div>
  );
}

/** At the page's foot and a part of it, so that they cover nothing. */
function Toasts() {
  const { t } = useTranslation();
  const toasts = useSyncExternalStore(toastStore.subscribe, toastStore.snapshot);
  return (
    <div aria-live="polite" data-toasts className="relative z-50 shrink-0">
      {toasts.map((toast) => (
        <div key={toast.id} className={clsx("flex items-start gap-2 border-t px-3 py-1 text-sm sm:px-4", toast.bad ? "border-bad bg-bad-soft" : "border-line bg-good-soft")}>
          <div className="min-w-0 grow break-words">
            <p className={clsx("font-medium", toast.bad && "text-bad")}>{toast.text}</p>
            {toast.hint ? <p className="text-soft">{toast.hint}</p> : null}
          </div>
          <IconButton label={t("action.close")} className="size-6" onClick={() => dismiss(toast.id)}><Cross className="size-3" /></IconButton>
        </div>
      ))}
    </div>
  );
}
