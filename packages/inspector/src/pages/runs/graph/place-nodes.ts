import { type EdgeLabel, Graph, type GraphLabel, layout, type NodeLabel } from "@dagrejs/dagre";
import { type Diagram, edgeKey, type Layout, NODE, type Point } from "./layout.ts";

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
