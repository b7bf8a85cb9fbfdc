import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
  RouterProvider,
} from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { shouldRetry } from "../api/queries.ts";
import { Page } from "../design/layout.tsx";
import { TextLink } from "../design/markdown.tsx";
import { Empty, Failure, Waiting } from "../design/states.tsx";
import { startTheme } from "../design/theme.ts";
import { retryLoad } from "./retry-load.ts";
import { Shell } from "./shell.tsx";
import { SignIn } from "./sign-in.tsx";

export function mountPage(): void {
  startTheme();
  const root = document.getElementById("root");
  if (!root) throw new Error("index.html has no #root");
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: shouldRetry,
    },
  },
});

function App() {
  return (
    <QueryClientProvider client={queries}>
      <SignIn>
        <RouterProvider router={router} />
      </SignIn>
    </QueryClientProvider>
  );
}

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });
const getParentRoute = () => root;

/** A part of the page that is loaded when its path is opened. */
function lazyPage<Part extends Record<string, unknown>, Name extends string & keyof Part>(
  load: () => Promise<Part>,
  name: Name,
) {
  return lazyRouteComponent(retryLoad(load), name);
}

function page<const Path extends string>(path: Path, component: RouteComponent) {
  return createRoute({ getParentRoute, path, component });
}

const routes = [
  page(
    "/",
    lazyPage(() => import("../pages/overview/overview-page.tsx"), "OverviewPage"),
  ),
  createRoute({
    getParentRoute,
    path: "/sessions",
    validateSearch: ({ start }: Record<string, unknown>): { start?: true } =>
      start === true ? { start: true } : {},
    component: lazyPage(() => import("../pages/sessions/sessions-page.tsx"), "SessionsPage"),
  }),
  page(
    "/sessions/$id",
    lazyPage(() => import("../pages/conversation/conversation-page.tsx"), "ConversationPage"),
  ),
  createRoute({
    getParentRoute,
    path: "/runs/$id",
    validateSearch: ({
      action,
      view,
    }: Record<string, unknown>): { action?: string; view?: "graph" | "list" } => ({
      ...((typeof action === "string" || typeof action === "number") && { action: String(action) }),
      ...((view === "graph" || view === "list") && { view }),
    }),
    component: lazyPage(() => import("../pages/runs/run-page.tsx"), "RunPage"),
  }),
  createRoute({
    getParentRoute,
    path: "/approvals",
    validateSearch: ({ approval }: Record<string, unknown>): { approval?: string } =>
      typeof approval === "string" ? { approval } : {},
    component: lazyPage(() => import("../pages/approvals/approvals-page.tsx"), "ApprovalsPage"),
  }),
  page(
    "/policy",
    lazyPage(() => import("../pages/policy/policy-page.tsx"), "PolicyPage"),
  ),
  page(
    "/ledger",
    lazyPage(() => import("../pages/ledger/ledger-page.tsx"), "LedgerPage"),
  ),
  page(
    "/ledger/$cid",
    lazyPage(() => import("../pages/ledger/entry-page.tsx"), "EntryPage"),
  ),
  page(
    "/skills",
    lazyPage(() => import("../pages/skills/skills-page.tsx"), "SkillsPage"),
  ),
  page(
    "/agents",
    lazyPage(() => import("../pages/agents/agents-page.tsx"), "AgentsPage"),
  ),
  page(
    "/tools",
    lazyPage(() => import("../pages/tools/tools-page.tsx"), "ToolsPage"),
  ),
  page(
    "/wire",
    lazyPage(() => import("../pages/wire/wire-page.tsx"), "WirePage"),
  ),
];

const router = createRouter({
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
        Check the address, or open the <TextLink to="/">overview</TextLink>.
      </Empty>
    </Page>
  );
}
