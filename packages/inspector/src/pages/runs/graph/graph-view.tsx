import { graphOperations, type Run, type RunGraph, runOperations } from "@reins/api";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { useGet } from "../../../api/queries.ts";
import { subscribe } from "../../../api/stream.ts";
import { placeAfter, useKeys } from "../../../app/keys.ts";
import { retryLoad } from "../../../app/retry-load.ts";
import { Button, CopyButton } from "../../../design/button.tsx";
import { Code } from "../../../design/code.tsx";
import { visible, visibleLine } from "../../../design/format.ts";
import { classNames, Page, Panel, useNarrow } from "../../../design/layout.tsx";
import { Empty, Loaded, Waiting } from "../../../design/states.tsx";
import { AgentReports } from "../agent-reports.tsx";
import { Checks, RunEvents } from "../run-history.tsx";
import { ActionDetail } from "./action-detail.tsx";
import { ActionList } from "./action-list.tsx";
import { inRunOrder } from "./actions.ts";
import { CancelButton, graphKey } from "./controls.tsx";
import { type Diagram, diagramOf, isTooLarge } from "./layout.ts";
import { RunHead } from "./run-head.tsx";

const Picture = lazy(
  retryLoad(async () => {
    const { Picture: component } = await import("./picture.tsx");
    return { default: component };
  }),
);

/** A run of a graph of actions, live: as a picture and as a list, with everything about the chosen action. */
export function GraphRunPage({ run }: { run: Run }) {
  const id = run.run_id;
  useRunRefresh(id);
  const query = useGet(graphKey(id), graphOperations.getRunGraph, { params: { id } });
  return (
    <Loaded query={query} what="Loading the graph">
      {(graph) => (
        <Page
          title={visibleLine(graph.title) || "Run without a title"}
          about={`Run ${visible(id)}`}
          actions={<CancelButton graph={graph} />}
        >
          <RunHead graph={graph} />
          <Actions graph={graph} />
          <Checks run={run} />
          <Declaration graph={graph} />
          <Opened title="Events">
            <RunEvents id={id} />
          </Opened>
          <AgentReports session={graph.session_id} />
        </Page>
      )}
    </Loaded>
  );
}

function Actions({ graph }: { graph: RunGraph }) {
  const { action: chosen, view } = useSearch({ from: "/runs/$id" });
  const navigate = useNavigate({ from: "/runs/$id" });
  const isNarrow = useNarrow();
  const [opened, setOpened] = useState<string>();
  const actions = useMemo(() => inRunOrder(graph.actions), [graph.actions]);
  const diagram = useMemo(() => diagramOf(actions), [actions]);
  const tooLarge = useMemo(() => isTooLarge(diagram), [diagram]);

  const choose = useCallback(
    (id: string | undefined) =>
      void navigate({
        search: ({ action: _, ...others }) => ({ ...others, ...(id !== undefined && { action: id }) }),
        replace: true,
      }),
    [navigate],
  );
  const open = useCallback(
    (id: string) => {
      setOpened(id);
      choose(id);
    },
    [choose],
  );
  const close = () => {
    setOpened(undefined);
    choose(undefined);
    if (chosen !== undefined)
      document.querySelector<HTMLElement>(`[data-action="${CSS.escape(chosen)}"]`)?.focus();
  };
  const show = (next: "graph" | "list") =>
    void navigate({ search: (before) => ({ ...before, view: next }), replace: true });
  const action = actions.find(({ id }) => id === chosen);
  useKeys(({ key }) => {
    const place = action ? actions.indexOf(action) : -1;
    const next = actions[placeAfter(key, place, actions.length)];
    if (next && next !== action) choose(next.id);
  });
  if (actions.length === 0)
    return (
      <Panel>
        <Empty title="No actions">The declaration has no actions, so that there is nothing to run.</Empty>
      </Panel>
    );
  const shownView = tooLarge ? "list" : (view ?? (isNarrow ? "list" : "graph"));
  return (
    <div
      className={classNames("grid min-w-0 items-start gap-3", action && "xl:grid-cols-[minmax(0,1fr)_26rem]")}
    >
      <Panel
        title={`Actions (${actions.length})`}
        className="min-w-0"
        actions={!tooLarge && <Views view={shownView} onView={show} />}
      >
        <Remark diagram={diagram} total={actions.length} view={shownView} tooLarge={tooLarge} />
        {shownView === "list" ? (
          <ActionList actions={actions} chosen={chosen} onChoose={open} />
        ) : (
          <Suspense fallback={<Waiting what="Drawing the graph" />}>
            <Picture
              actions={actions}
              diagram={diagram}
              isVertical={isNarrow}
              chosen={chosen}
              onChoose={open}
            />
          </Suspense>
        )}
      </Panel>
      {action && (
        <ActionDetail
          key={action.id}
          graph={graph}
          action={action}
          takesFocus={opened === action.id}
          onClose={close}
        />
      )}
      {chosen !== undefined && !action && (
        <p className="text-sm text-ink-soft">This run has no action {visible(chosen)}.</p>
      )}
    </div>
  );
}

function Views({ view, onView }: { view: "graph" | "list"; onView: (view: "graph" | "list") => void }) {
  return (["graph", "list"] as const).map((one) => (
    <Button
      key={one}
      kind={view === one ? "plain" : "quiet"}
      className="h-6 capitalize"
      aria-pressed={view === one}
      onClick={() => onView(one)}
    >
      {one}
    </Button>
  ));
}

/** Why the picture is not there, or not complete. */
function Remark({
  diagram: { ids },
  total,
  view,
  tooLarge,
}: {
  diagram: Diagram;
  total: number;
  view: "graph" | "list";
  tooLarge: boolean;
}): ReactNode {
  const hidden = total - ids.length;
  const text = tooLarge
    ? "This graph is too large for a picture."
    : view === "graph" && hidden > 0
      ? `${hidden === 1 ? "1 action is" : `${hidden} actions are`} only in the list, as declared.`
      : undefined;
  return text && <p className="border-b border-line px-3 py-1.5 text-2xs text-ink-faint">{text}</p>;
}

const CARRIERS = {
  native: "The model called the protocol's tool.",
  fenced: "The model wrote one fenced block in its message.",
  recovered: "The model did not use the protocol; its request was clear, and was taken as a declaration.",
  api: "It was posted to the API.",
} as const;

/** What the model wrote, word for word. */
function Declaration({ graph: { declaration, carrier } }: { graph: RunGraph }) {
  return (
    <Opened title="Declaration">
      <div className="flex flex-col gap-2 px-3 py-2">
        <p className="flex items-center justify-between gap-2 text-sm text-ink-soft">
          {CARRIERS[carrier]} <CopyButton label="Copy" text={() => declaration} />
        </p>
        <Code text={declaration} className="max-h-[32rem]" />
      </div>
    </Opened>
  );
}

/** A part of the page that is closed at first, and loads what it shows when it is opened. */
function Opened({ title, children }: { title: string; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Panel>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary className="cursor-pointer px-3 py-2 text-sm font-semibold">{title}</summary>
        {isOpen && <div className="border-t border-line">{children}</div>}
      </details>
    </Panel>
  );
}

const PAUSE_MS = 250;

/**
 * Runs a task after it was requested, one at a time and with a pause in between. Requests while it runs or pauses
 * become one more run, so that the last change is never missed.
 */
export class Refresher {
  readonly #task: () => Promise<unknown>;
  readonly #wait: (milliseconds: number) => Promise<void>;
  #isWanted = false;
  #isRunning = false;

  constructor(task: () => Promise<unknown>, wait = pause) {
    this.#task = task;
    this.#wait = wait;
  }

  /** Requests a run of the task. */
  request(): void {
    this.#isWanted = true;
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isWanted) {
      this.#isWanted = false;
      await this.#task();
      await this.#wait(PAUSE_MS);
    }
    this.#isRunning = false;
  }
}

/** Fetches a run and its graph again whenever an event of it arrives. */
function useRunRefresh(id: string): void {
  const queries = useQueryClient();
  useEffect(() => {
    const refresher = new Refresher(() => queries.invalidateQueries({ queryKey: ["runs", id] }));
    const refresh = () => refresher.request();
    // Events during a lost connection are missing, so that a new one refreshes too.
    return subscribe(
      runOperations.streamRuns,
      { query: { run: id } },
      { onEvent: refresh, onState: (isOpen) => isOpen && refresh() },
    );
  }, [queries, id]);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
