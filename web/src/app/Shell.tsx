import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import clsx from "clsx";
import { Suspense, lazy, useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { languages, setLanguage } from "../i18n";
import { useKeys } from "../lib/keys";
import { useLiveLoops } from "../loops/useLoops";
import { dismiss, toastStore } from "../lib/toast";
import { Chart, Cross, Flag, Gear, Half, Keyboard, List, Plus, Queue, Robot, Search, Server } from "../ui/icons";
import { Button, IconButton } from "../ui/primitives";
import { useWorkers } from "../workers/useWorkers";
import { useAttention } from "./attention";
import { useCommands, type Command } from "./commands";
import { useConnection } from "./connection";
import { useTheme, type Theme } from "./theme";

const KeysDialog = lazy(() => import("./KeysDialog"));
const Palette = lazy(() => import("./Palette"));
const Preferences = lazy(() => import("./Preferences"));

const PLACES = [
  { to: "/", key: "nav.loops", icon: List, keys: "g l" },
  { to: "/new", key: "nav.new", icon: Plus, keys: "g n" },
  { to: "/queue", key: "nav.queue", icon: Queue, keys: "g q" },
  { to: "/milestones", key: "nav.milestones", icon: Flag, keys: "g m" },
  { to: "/usage", key: "nav.usage", icon: Chart, keys: "g u" },
  { to: "/agents", key: "nav.agents", icon: Robot, keys: "g a" },
  { to: "/settings", key: "nav.settings", icon: Gear, keys: "g s" },
] as const;
/** Only where there is a fleet. Where there is no room for it, the page of the agents leads there. */
const WORKERS_PLACE = { to: "/workers", key: "nav.workers", icon: Server, keys: "g w" } as const;

export function Shell() {
  const { t } = useTranslation();
  const [, setTheme] = useTheme();
  const [keysShown, showKeys] = useState(false);
  const [searching, search] = useState(false);
  const navigate = useNavigate();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const isFleet = (useWorkers().data ?? []).length > 0;
  const shown = useMemo(() => (isFleet ? [...PLACES.slice(0, 5), WORKERS_PLACE, ...PLACES.slice(5)] : PLACES), [isFleet]);
  const places = useMemo(() => shown.map(({ to, key, keys }): Command => ({ id: `page ${to}`, group: t("palette.pages"), label: t(key), keys, run: () => void navigate({ to }) })), [shown, t, navigate]);
  const views = useMemo((): Command[] => [
    ...(["system", "light", "dark"] as Theme[]).map((name) => ({ id: `theme ${name}`, group: t("theme.label"), label: `${t("theme.label")}: ${t(`theme.${name}`)}`, run: () => setTheme(name) })),
    ...languages.map(({ code, name }) => ({ id: `language ${code}`, group: t("nav.language"), label: name, run: () => void setLanguage(code) })),
    { id: "keys", group: t("keys.title"), label: t("keys.help"), keys: "?", run: () => showKeys(true) },
    // eslint-disable-next-line react-hooks/exhaustive-deps
  ], [t]);
  useCommands("places", places);
  useCommands("views", views);
  useKeys({ "?": () => showKeys(true), ...Object.fromEntries(places.map(({ keys, run }) => [keys, run])) });
  useEffect(() => {
    // Works while somebody types, too.
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      search((now) => !now);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  useAttention(useCallback((id: string) => void navigate({ to: "/loops/$id", params: { id } }), [navigate]));
  useLiveLoops(!path.startsWith("/loops/"));
  const isHere = (to: string) => (to === "/" ? path === "/" || ["/loops", "/groups", "/compare"].some((part) => path.startsWith(part)) : path.startsWith(to));
  return (
    <div className="flex h-full flex-col">
      <a href="#main" className="sr-only z-50 rounded bg-accent px-3 py-2 text-accent-ink focus:not-sr-only focus:absolute focus:top-2 focus:left-2">{t("nav.skip")}</a>
      <header className="flex items-center gap-1 border-b border-line bg-panel px-2 sm:px-4">
        <Link to="/" className="mr-4 flex items-center gap-2 py-2 font-semibold max-sm:hidden" aria-label="Windlass">
          <Mark />
          <span className="hidden lg:inline">Windlass</span>
        </Link>
        <nav aria-label={t("nav.label")} className="flex grow justify-between sm:justify-start sm:gap-1">
          {shown.map(({ to, key, icon: Icon }) => (
            <Link key={to} to={to} aria-current={isHere(to) ? "page" : undefined} className={clsx("flex min-h-11 min-w-9 flex-col items-center justify-center gap-0.5 border-b-2 px-0.5 text-[11px] whitespace-nowrap sm:px-2", isFleet ? "xl:flex-row xl:gap-1.5 xl:px-2.5 xl:text-sm" : "lg:flex-row lg:gap-1.5 lg:px-2.5 lg:text-sm", to === "/workers" && "max-md:hidden", isHere(to) ? "border-accent font-medium text-ink" : "border-transparent text-soft hover:text-ink")}>
              <Icon />
              <span>{t(key)}</span>
            </Link>
          ))}
        </nav>
        <ConnectionMark />
        <IconButton label={`${t("palette.title")} (Ctrl+K)`} className="max-sm:hidden" onClick={() => search(true)}><Search /></IconButton>
        <span className="hidden sm:block"><IconButton label={t("keys.title")} onClick={() => showKeys(true)}><Keyboard /></IconButton></span>
        <PreferencesMenu />
      </header>
      <ConnectionBar />
      <main id="main" tabIndex={0} className="min-h-0 grow overflow-auto outline-none">
        <Outlet />
      </main>
      <Toasts />
      {keysShown ? <Suspense fallback={null}><KeysDialog onClose={() => showKeys(false)} /></Suspense> : null}
      {searching ? <Suspense fallback={null}><Palette onClose={() => search(false)} /></Suspense> : null}
    </div>
  );
}

/** Its menu is loaded when it is wanted. */
function PreferencesMenu() {
  const { t } = useTranslation();
  const [wanted, want] = useState(false);
  const trigger = <IconButton label={t("nav.preferences")} aria-haspopup="menu" onClick={() => want(true)}><Half /></IconButton>;
  return wanted ? <Suspense fallback={trigger}><Preferences /></Suspense> : trigger;
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
      {state === "lost" ? <Button small className="ml-2" onClick={() => window.dispatchEvent(new Event("online"))}>{t("connection.now")}</Button> : null}
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
