import { createRootRoute, createRoute, createRouter, Link, lazyRouteComponent } from "@tanstack/react-router";
import { Page } from "../design/layout.tsx";
import { Empty, Failure, Waiting } from "../design/states.tsx";
import { retryLoad } from "./retry-load.ts";
import { Shell } from "./shell.tsx";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });
const getParentRoute = () => root;

const routes = [
  createRoute({
    getParentRoute,
    path: "/",
    component: lazyRouteComponent(
      retryLoad(() => import("../pages/overview/overview-page.tsx")),
      "OverviewPage",
    ),
  }),
  createRoute({
    getParentRoute,
    path: "/sessions",
    validateSearch: ({ start }: Record<string, unknown>): { start?: true } =>
      start === true ? { start: true } : {},
    component: lazyRouteComponent(
      retryLoad(() => import("../pages/sessions/sessions-page.tsx")),
      "SessionsPage",
    ),
  }),
  createRoute({
    getParentRoute,
    path: "/sessions/$id",
    component: lazyRouteComponent(
      retryLoad(() => import("../pages/conversation/conversation-page.tsx")),
      "ConversationPage",
    ),
  }),
  createRoute({
    getParentRoute,
    path: "/runs/$id",
    component: lazyRouteComponent(
      retryLoad(() => import("../pages/runs/run-page.tsx")),
      "RunPage",
    ),
  }),
  createRoute({
    getParentRoute,
    path: "/approvals",
    validateSearch: ({ approval }: Record<string, unknown>): { approval?: string } =>
      typeof approval === "string" ? { approval } : {},
    component: lazyRouteComponent(
      retryLoad(() => import("../pages/approvals/approvals-page.tsx")),
      "ApprovalsPage",
    ),
  }),
  createRoute({
    getParentRoute,
    path: "/policy",
    component: lazyRouteComponent(
      retryLoad(() => import("../pages/policy/policy-page.tsx")),
      "PolicyPage",
    ),
  }),
  createRoute({
    getParentRoute,
    path: "/ledger",
    component: lazyRouteComponent(
      retryLoad(() => import("../pages/ledger/ledger-page.tsx")),
      "LedgerPage",
    ),
  }),
  createRoute({
    getParentRoute,
    path: "/ledger/$cid",
    component: lazyRouteComponent(
      retryLoad(() => import("../pages/ledger/entry-page.tsx")),
      "EntryPage",
    ),
  }),
  createRoute({
    getParentRoute,
    path: "/agents",
    component: lazyRouteComponent(
      retryLoad(() => import("../pages/agents/agents-page.tsx")),
      "AgentsPage",
    ),
  }),
  createRoute({
    getParentRoute,
    path: "/wire",
    component: lazyRouteComponent(
      retryLoad(() => import("../pages/wire/wire-page.tsx")),
      "WirePage",
    ),
  }),
];

export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: "/ui",
  defaultPreload: "intent",
  defaultPendingComponent: () => <Waiting what="Loading the page" />,
  defaultErrorComponent: ({ error, reset }) => <Failure error={error} onRetry={reset} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

function NotFound() {
  return (
    <Page title="Page not found">
      <Empty title="No page has this address">
        Check the address, or open the{" "}
        <Link to="/" className="text-accent underline">
          overview
        </Link>
        .
      </Empty>
    </Page>
  );
}
