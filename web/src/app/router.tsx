import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { VIEW_KEYS } from "../loops/arrange";
import { LoopsPage } from "../loops/LoopsPage";
import { Loading, Problem } from "../ui/primitives";
import { NotFound } from "./NotFound";
import { Shell } from "./Shell";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

export type LoopsSearch = Partial<Record<(typeof VIEW_KEYS)[number], string>>;
const text = (value: unknown) => (typeof value === "string" && value ? value : typeof value === "number" ? String(value) : undefined);
const keep = <T extends object>(parts: T) => Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined)) as T;

const loops = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: LoopsPage,
  validateSearch: (search: Record<string, unknown>): LoopsSearch => keep(Object.fromEntries(VIEW_KEYS.map((name) => [name, text(search[name])]))),
});

const loop = createRoute({
  getParentRoute: () => root,
  path: "/loops/$id",
  component: lazyRouteComponent(() => import("../loop/LoopPage"), "LoopPage"),
  validateSearch: (search: Record<string, unknown>): { tab?: string; iteration?: number; turn?: string } =>
    keep({ tab: text(search["tab"]), iteration: typeof search["iteration"] === "number" ? search["iteration"] : undefined, turn: text(search["turn"]) }) as { tab?: string; iteration?: number; turn?: string },
});

const fresh = createRoute({ getParentRoute: () => root, path: "/new", component: lazyRouteComponent(() => import("../pages/NewLoopPage"), "NewLoopPage") });
const milestones = createRoute({ getParentRoute: () => root, path: "/milestones", component: lazyRouteComponent(() => import("../pages/MilestonesPage"), "MilestonesPage") });
const agents = createRoute({ getParentRoute: () => root, path: "/agents", component: lazyRouteComponent(() => import("../pages/AgentsPage"), "AgentsPage") });
const settings = createRoute({ getParentRoute: () => root, path: "/settings", component: lazyRouteComponent(() => import("../pages/SettingsPage"), "SettingsPage") });

export const router = createRouter({
  routeTree: root.addChildren([loops, loop, fresh, milestones, agents, settings]),
  defaultPreload: "intent",
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: ({ error, reset }) => <Problem error={error} onRetry={reset} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
