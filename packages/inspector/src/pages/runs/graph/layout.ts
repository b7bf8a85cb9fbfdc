import type { RunAction } from "@reins/api";
import { needsAttention } from "./actions.ts";

/** The size of a node in pixels. */
export const NODE = { width: 224, height: 68 } as const;

export interface Edge {
  readonly from: string;
  readonly to: string;
}

/** The actions of a picture in run order, and the dependencies between them. */
export interface Diagram {
  readonly ids: readonly string[];
  readonly edges: readonly Edge[];
}

/**
 * The part of a graph that is drawn: actions that the declaration shows, and those that need attention. An action
 * that is left out passes its dependencies on. Expects the actions in run order.
 */
export function diagramOf(actions: readonly RunAction[]): Diagram {
  const shown = new Set(
    actions.filter((action) => action.visible || needsAttention(action)).map(({ id }) => id),
  );
  const drawn = new Map<string, ReadonlySet<string>>();
  const edges: Edge[] = [];
  for (const { id, depends_on } of actions) {
    const sources = new Set(
      depends_on.flatMap((dependency) =>
        shown.has(dependency) ? [dependency] : [...(drawn.get(dependency) ?? [])],
      ),
    );
    drawn.set(id, sources);
    if (shown.has(id)) edges.push(...Array.from(sources, (from) => ({ from, to: id })));
  }
  return { ids: [...shown], edges };
}

/** The most that dagre places within half a second: nodes, and the layers that edges cross. */
const MOST_NODES = 300;
const MOST_PARTS = 1_500;

/** Whether a diagram is too large to be placed in reasonable time, or to be read as a picture. */
export function isTooLarge({ ids, edges }: Diagram): boolean {
  if (ids.length > MOST_NODES) return true;
  const layers = new Map<string, number>();
  const incoming = Map.groupBy(edges, ({ to }) => to);
  let parts = ids.length;
  for (const id of ids) {
    const sources = (incoming.get(id) ?? []).map(({ from }) => layers.get(from) ?? 0);
    const layer = Math.max(-1, ...sources) + 1;
    layers.set(id, layer);
    for (const source of sources) parts += layer - source;
  }
  return parts > MOST_PARTS;
}

/** A point of the picture; for a node, its centre. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where everything is: nodes by id, and what edges pass between their ends, by {@link edgeKey}. */
export interface Layout {
  readonly places: ReadonlyMap<string, Point>;
  readonly routes: ReadonlyMap<string, readonly Point[]>;
  readonly width: number;
  readonly height: number;
}

export function edgeKey({ from, to }: Edge): string {
  return JSON.stringify([from, to]);
}

/**
 * The path of an edge as SVG: through its points in smooth steps, and straight beside the nodes of each layer that it
 * crosses.
 */
export function edgePath(start: Point, route: readonly Point[], end: Point, isVertical: boolean): string {
  const half = (isVertical ? NODE.height : NODE.width) / 2;
  const [startAt, ...points] = [
    start,
    ...route.flatMap(({ x, y }) =>
      isVertical
        ? [
            { x, y: y - half },
            { x, y: y + half },
          ]
        : [
            { x: x - half, y },
            { x: x + half, y },
          ],
    ),
    end,
  ];
  let before = startAt;
  const steps = points.map((point) => {
    const middle = { x: (before.x + point.x) / 2, y: (before.y + point.y) / 2 };
    const [first, second] = isVertical
      ? [`${before.x},${middle.y}`, `${point.x},${middle.y}`]
      : [`${middle.x},${before.y}`, `${middle.x},${point.y}`];
    before = point;
    return `C${first} ${second} ${point.x},${point.y}`;
  });
  return `M${start.x},${start.y}${steps.join("")}`;
}

const DIRECTIONS: Readonly<Record<string, (from: Point, to: Point) => readonly [number, number]>> = {
  ArrowRight: (from, to) => [to.x - from.x, to.y - from.y],
  ArrowLeft: (from, to) => [from.x - to.x, to.y - from.y],
  ArrowDown: (from, to) => [to.y - from.y, to.x - from.x],
  ArrowUp: (from, to) => [from.y - to.y, to.x - from.x],
};

/** The nearest node in the direction of an arrow key; one straight ahead is preferred. */
export function neighbour(places: ReadonlyMap<string, Point>, from: string, key: string): string | undefined {
  const start = places.get(from);
  const measure = DIRECTIONS[key];
  if (!start || !measure) return undefined;
  let best: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const [id, place] of places) {
    const [ahead, aside] = measure(start, place);
    const distance = ahead + 3 * Math.abs(aside);
    if (ahead < 1 || distance >= least) continue;
    best = id;
    least = distance;
  }
  return best;
}
