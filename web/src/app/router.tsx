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

/** An iteration, or the merge target. */
const endOf = (value: unknown) => (/^(\d{1,6}|target)$/.test(text(value) ?? "") ? text(value) : undefined);

interface LoopSearch {
  tab?: string;
  iteration?: number;
  since?: string;
  turn?: string;
}

const loop = createRoute({
  getParentRoute: () => root,
  path: "/loops/$id",
  component: lazyRouteComponent(() => import("../loop/LoopPage"), "LoopPage"),
  validateSearch: (search: Record<string, unknown>): LoopSearch =>
    ({ ...keep({ tab: text(search["tab"]), iteration: typeof search["iteration"] === "number" ? search["iteration"] : undefined, turn: text(search["turn"]) }),
      // Said in any case: what is left out is taken from the address as it stands.
      since: endOf(search["since"]),
    }) as LoopSearch,
});

const group = createRoute({ getParentRoute: () => root, path: "/groups/$id", component: lazyRouteComponent(() => import("../groups/GroupPage"), "GroupPage") });
/** The IDs of the loops, separated by commas. */
const compare = createRoute({
  getParentRoute: () => root,
  path: "/compare",
  component: lazyRouteComponent(() => import("../compare/ComparePage"), "ComparePage"),
  validateSearch: (search: Record<string, unknown>): { loops?: string } => keep({ loops: text(search["loops"]) }) as { loops?: string },
});
const fresh = createRoute({ getParentRoute: () => root, path: "/new", component: lazyRouteComponent(() => import("../pages/NewLoopPage"), "NewLoopPage") });
const milestones = createRoute({ getParentRoute: () => root, path: "/milestones", component: lazyRouteComponent(() => import("../pages/MilestonesPage"), "MilestonesPage") });
const queue = createRoute({ getParentRoute: () => root, path: "/queue", component: lazyRouteComponent(() => import("../queue/QueuePage"), "QueuePage") });
const workers = createRoute({ getParentRoute: () => root, path: "/workers", component: lazyRouteComponent(() => import("../workers/WorkersPage"), "WorkersPage") });
const agents = createRoute({ getParentRoute: () => root, path: "/agents", component: lazyRouteComponent(() => import("../pages/AgentsPage"), "AgentsPage") });
const usage = createRoute({ getParentRoute: () => root, path: "/usage", component: lazyRouteComponent(() => import("../usage/UsagePage"), "UsagePage") });
const settings = createRoute({ getParentRoute: () => root, path: "/settings", component: lazyRouteComponent(() => import("../pages/SettingsPage"), "SettingsPage") });

export const router = createRouter({
  routeTree: root.addChildren([loops, loop, group, compare, fresh, queue, milestones, workers, agents, usage, settings]),
  defaultPreload: "intent",
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: ({ error, reset }) => <Problem error={error} onRetry={reset} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
