import "@xyflow/react/dist/style.css";
import { type EdgeLabel, Graph, type GraphLabel, layout, type NodeLabel } from "@dagrejs/dagre";
import type { RunAction } from "@reins/api";
import {
  Background,
  BaseEdge,
  Controls,
  type EdgeProps,
  type FitViewOptions,
  Handle,
  MarkerType,
  MiniMap,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  ReactFlowProvider,
  type Edge as ShownEdge,
  useReactFlow,
} from "@xyflow/react";
import { memo, useEffect, useMemo, useRef } from "react";
import { StatusBadge } from "../../../design/badge.tsx";
import { visibleLine } from "../../../design/format.ts";
import { classNames } from "../../../design/layout.tsx";
import { Elapsed, ExecutorName } from "./action-list.tsx";
import { needsAttention, repetitionText } from "./actions.ts";
import { type Diagram, edgeKey, edgePath, type Layout, NODE, neighbour, type Point } from "./layout.ts";

interface PictureProps {
  readonly actions: readonly RunAction[];
  readonly diagram: Diagram;
  readonly isVertical: boolean;
  readonly chosen: string | undefined;
  readonly onChoose: (id: string) => void;
}

/** The graph of a run as a picture: one node for each action, an arrow from each to what depends on it. */
export function Picture(props: PictureProps) {
  return (
    <ReactFlowProvider>
      <Drawing {...props} />
    </ReactFlowProvider>
  );
}

interface ActionData extends Record<string, unknown> {
  readonly action: RunAction;
  readonly isChosen: boolean;
  readonly isVertical: boolean;
  readonly onChoose: (id: string) => void;
  readonly onFocus: (id: string) => void;
}
type ActionNode = Node<ActionData, "action">;

interface RouteData extends Record<string, unknown> {
  readonly route: readonly Point[];
  readonly isVertical: boolean;
}
type RouteEdge = ShownEdge<RouteData, "route">;

const NODE_TYPES = { action: memo(ActionCard) };
const EDGE_TYPES = { route: RouteLine };
/** Nodes are readable at this scale; a larger graph is shown in part. */
const READABLE = 0.6;
const MINIMAP_FROM = 30;

/** The colours of the page for what React Flow draws. */
const COLOURS: React.CSSProperties & Readonly<Record<`--${string}`, string>> = {
  "--xy-edge-stroke": "var(--line-strong)",
  "--xy-edge-stroke-width": "1.5",
  "--xy-background-color": "var(--ground)",
  "--xy-background-pattern-color": "var(--line)",
  "--xy-minimap-background-color": "var(--surface)",
  "--xy-minimap-mask-background-color": "color-mix(in srgb, var(--sunken) 70%, transparent)",
  "--xy-controls-button-background-color": "var(--raised)",
  "--xy-controls-button-background-color-hover": "var(--sunken)",
  "--xy-controls-button-color": "var(--ink)",
  "--xy-controls-button-color-hover": "var(--ink)",
  "--xy-controls-button-border-color": "var(--line)",
};

function Drawing({ actions, diagram, isVertical, chosen, onChoose }: PictureProps) {
  const box = useRef<HTMLDivElement>(null);
  const flow = useReactFlow();
  const shape = JSON.stringify([diagram, isVertical]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape is what places depend on; statuses change often
  const { places, routes, width, height } = useMemo(() => placeNodes(diagram, isVertical), [shape]);
  const reveal = useRef((_id: string) => {});
  reveal.current = (id) => {
    const place = places.get(id);
    if (place && box.current && !isInside(place, box.current, flow.getViewport()))
      void flow.setCenter(place.x, place.y, { zoom: Math.max(READABLE, flow.getZoom()) });
  };
  useEffect(() => {
    if (chosen !== undefined) reveal.current(chosen);
  }, [chosen]);
  const view = firstView(actions, diagram, isVertical);
  const onUserMove = useFitting(box, view, places);

  const byId = useMemo(() => new Map(actions.map((action) => [action.id, action])), [actions]);
  const nodes = useMemo(
    () =>
      diagram.ids.flatMap((id): ActionNode[] => {
        const action = byId.get(id);
        const place = places.get(id);
        if (!action || !place) return [];
        const data = {
          action,
          isChosen: id === chosen,
          isVertical,
          onChoose,
          onFocus: (focused: string) => reveal.current(focused),
        };
        return [{ id, type: "action", data, position: cornerOf(place), measured: NODE, ...NODE }];
      }),
    [diagram, byId, places, chosen, isVertical, onChoose],
  );
  const edges = useMemo(
    () =>
      diagram.edges.map((edge): RouteEdge => {
        const { from, to } = edge;
        const id = edgeKey(edge);
        const isActive = byId.get(to)?.status === "running";
        const isBetween = chosen === from || chosen === to;
        return {
          id,
          type: "route",
          data: { route: routes.get(id) ?? [], isVertical },
          source: from,
          target: to,
          animated: isActive,
          markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16, color: "var(--line-strong)" },
          ...((isActive || isBetween) && { style: { stroke: "var(--accent)" } }),
        };
      }),
    [diagram, byId, routes, chosen, isVertical],
  );
  const focusNext = (event: React.KeyboardEvent) => {
    const from = event.target instanceof HTMLElement ? event.target.dataset.action : undefined;
    const next = from === undefined ? undefined : neighbour(places, from, event.key);
    if (next === undefined) return;
    event.preventDefault();
    box.current?.querySelector<HTMLElement>(`[data-action="${CSS.escape(next)}"]`)?.focus();
  };
  return (
    <section
      ref={box}
      aria-label="Graph of the run"
      aria-describedby="graph-keys"
      onKeyDown={focusNext}
      className="w-full"
      style={{
        maxHeight: `clamp(16rem, ${Math.round(height) + 80}px, 60vh)`,
        // A small graph is shown whole, in a box of its form.
        ...(diagram.ids.length <= SMALL
          ? { minHeight: "16rem", aspectRatio: `${Math.round(width) + 80} / ${Math.round(height) + 80}` }
          : { height: `${Math.round(height) + 80}px` }),
      }}
    >
      <p id="graph-keys" className="sr-only">
        Arrow keys move between actions, Enter opens one. The list has the same actions.
      </p>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        style={COLOURS}
        fitView
        fitViewOptions={view}
        onMove={onUserMove}
        minZoom={0.1}
        maxZoom={1.5}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        disableKeyboardA11y
        zoomOnScroll={false}
        preventScrolling={false}
        zoomOnDoubleClick={false}
        deleteKeyCode={null}
        selectionKeyCode={null}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={20} />
        <Controls showInteractive={false} position="bottom-right" />
        {diagram.ids.length >= MINIMAP_FROM && (
          <MiniMap<ActionNode>
            pannable
            position="bottom-left"
            ariaLabel="Overview of the graph"
            className="max-md:hidden!"
            nodeColor={({ data }) => MAP_COLOURS[data.action.status] ?? "var(--line-strong)"}
          />
        )}
      </ReactFlow>
    </section>
  );
}

/** Keeps the view fitting when the box or the layout changes, until the user moves it. */
function useFitting(box: React.RefObject<HTMLElement | null>, view: FitViewOptions, places: unknown) {
  const flow = useReactFlow();
  const isMoved = useRef(false);
  const latest = useRef(view);
  latest.current = view;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new layout is observed anew, which fits it
  useEffect(() => {
    if (!box.current) return;
    const observer = new ResizeObserver(() => {
      if (!isMoved.current) void flow.fitView(latest.current);
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [box, flow, places]);
  // Moves of the program have no event.
  return (event: unknown) => {
    if (event) isMoved.current = true;
  };
}

const MAP_COLOURS: Readonly<Record<string, string>> = {
  completed: "var(--good)",
  running: "var(--accent)",
  waiting: "var(--warn)",
  failed: "var(--bad)",
  blocked: "var(--bad)",
};

/** The most actions of a graph that is shown whole at first. */
const SMALL = 12;

/** The first view: the whole graph if it is small or readable, otherwise what runs or needs attention, or the first actions. */
function firstView(actions: readonly RunAction[], { ids }: Diagram, isVertical: boolean): FitViewOptions {
  const bounds = { minZoom: READABLE, maxZoom: 1, padding: 0.08 };
  if (ids.length <= SMALL) return { ...bounds, minZoom: 0.35 };
  const drawn = new Set(ids);
  const active = actions.filter(
    (action) => drawn.has(action.id) && (action.status === "running" || needsAttention(action)),
  );
  const first = active.length > 0 ? active.map(({ id }) => id) : ids;
  return { ...bounds, nodes: first.slice(0, isVertical ? 3 : 6).map((id) => ({ id })) };
}

function cornerOf({ x, y }: Point): Point {
  return { x: x - NODE.width / 2, y: y - NODE.height / 2 };
}

/** Whether a node is wholly within the visible part of the picture. */
function isInside(
  place: Point,
  { clientWidth, clientHeight }: HTMLElement,
  { x, y, zoom }: { readonly x: number; readonly y: number; readonly zoom: number },
): boolean {
  const left = (place.x - NODE.width / 2) * zoom + x;
  const top = (place.y - NODE.height / 2) * zoom + y;
  return (
    left >= 0 &&
    top >= 0 &&
    left + NODE.width * zoom <= clientWidth &&
    top + NODE.height * zoom <= clientHeight
  );
}

function RouteLine({ sourceX, sourceY, targetX, targetY, data, markerEnd, style }: EdgeProps<RouteEdge>) {
  const { route = [], isVertical = false } = data ?? {};
  const path = edgePath({ x: sourceX, y: sourceY }, route, { x: targetX, y: targetY }, isVertical);
  return <BaseEdge path={path} {...(markerEnd !== undefined && { markerEnd })} {...(style && { style })} />;
}

const BARS: Readonly<Record<RunAction["status"], string>> = {
  pending: "bg-line-strong",
  running: "bg-accent motion-safe:animate-pulse",
  completed: "bg-good",
  failed: "bg-bad",
  canceled: "bg-line-strong",
  blocked: "bg-bad",
  waiting: "bg-warn motion-safe:animate-pulse",
};

function ActionCard({ data: { action, isChosen, isVertical, onChoose, onFocus } }: NodeProps<ActionNode>) {
  const { id, status, title } = action;
  const repetition = repetitionText(action);
  return (
    <>
      <Handle
        type="target"
        position={isVertical ? Position.Top : Position.Left}
        isConnectable={false}
        className="invisible"
      />
      <button
        type="button"
        data-action={id}
        aria-current={isChosen || undefined}
        title={visibleLine(title)}
        onClick={() => onChoose(id)}
        onFocus={({ target }) => target.matches(":focus-visible") && onFocus(id)}
        className={classNames(
          "pointer-events-auto flex h-full w-full cursor-pointer overflow-hidden rounded border bg-raised text-left shadow-sm hover:border-accent",
          isChosen ? "border-accent ring-2 ring-accent" : "border-line-strong",
          status === "canceled" && "border-dashed",
        )}
      >
        <span aria-hidden="true" className={classNames("w-1.5 shrink-0", BARS[status])} />
        <span className="flex min-w-0 flex-1 flex-col justify-between px-2 py-1.5">
          <span
            className={classNames(
              "line-clamp-2 text-xs leading-tight font-medium break-words",
              status === "canceled" && "text-ink-faint line-through",
            )}
          >
            {visibleLine(title)}
          </span>
          <span className="flex min-w-0 items-center gap-1.5 text-2xs text-ink-faint">
            <StatusBadge status={status} />
            <span className="shrink-0">{repetition !== "" ? repetition : <Elapsed action={action} />}</span>
            <span className="ml-auto flex min-w-0 justify-end">
              <ExecutorName executor={action.executor} isShort />
            </span>
          </span>
        </span>
      </button>
      <Handle
        type="source"
        position={isVertical ? Position.Bottom : Position.Right}
        isConnectable={false}
        className="invisible"
      />
    </>
  );
}

/** Places the nodes of a diagram in layers, from left to right or from top to bottom. */
export function placeNodes({ ids, edges }: Diagram, isVertical: boolean): Layout {
  const graph = new Graph<GraphLabel, NodeLabel, EdgeLabel>();
  graph.setGraph({
    rankdir: isVertical ? "TB" : "LR",
    // Two to ten times as fast as the default, with as good a picture.
    ranker: "tight-tree",
    nodesep: 20,
    ranksep: isVertical ? 40 : 56,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  // Numbers as names: an id may be any word, also `constructor`, and dagre keeps names in plain objects.
  const names = new Map(ids.map((id, index) => [id, String(index)]));
  const nameOf = (id: string) => names.get(id) ?? "";
  for (const name of names.values()) graph.setNode(name, { ...NODE });
  for (const { from, to } of edges) graph.setEdge(nameOf(from), nameOf(to));
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    places: new Map(
      Array.from(names, ([id, name]) => {
        const { x = 0, y = 0 } = graph.node(name);
        return [id, { x, y }];
      }),
    ),
    routes: new Map(
      edges.map((edge) => {
        const { points = [] } = graph.edge(nameOf(edge.from), nameOf(edge.to));
        return [edgeKey(edge), crossings(points)];
      }),
    ),
  };
}

/**
 * The points at which an edge crosses other layers. Dagre lists the borders of the nodes at both ends, and between
 * them each layer that it crosses and each gap between layers, in turn.
 */
function crossings(points: readonly Point[]): readonly Point[] {
  return points.slice(1, -1).filter((_, index) => index % 2 === 1);
}
