import { describe, expect, test } from "vitest";
import { anAction, layeredGraph } from "../../../../test/run-graphs.ts";
import { inRunOrder } from "./actions.ts";
import { diagramOf, edgeKey, edgePath, isTooLarge, NODE, neighbour } from "./layout.ts";
import { placeNodes } from "./picture.tsx";

describe("a diagram", () => {
  test("has an edge from each dependency", () => {
    const actions = [anAction("a"), anAction("b", { depends_on: ["a"] })];
    expect(diagramOf(actions)).toEqual({ ids: ["a", "b"], edges: [{ from: "a", to: "b" }] });
  });

  test("leaves hidden actions out and passes their dependencies on, once", () => {
    const actions = [
      anAction("a"),
      anAction("h1", { depends_on: ["a"], visible: false }),
      anAction("h2", { depends_on: ["h1", "a"], visible: false }),
      anAction("b", { depends_on: ["h2", "a"] }),
    ];
    expect(diagramOf(actions)).toEqual({ ids: ["a", "b"], edges: [{ from: "a", to: "b" }] });
  });

  test.each(["failed", "blocked", "waiting"] as const)("shows a hidden action that is %s", (status) => {
    expect(diagramOf([anAction("h", { visible: false, status })]).ids).toEqual(["h"]);
  });

  test("ignores a dependency on an unknown action", () => {
    expect(diagramOf([anAction("a", { depends_on: ["nowhere"] })]).edges).toEqual([]);
  });
});

describe("the size of a diagram", () => {
  const sized = (total: number, width: number) => isTooLarge(diagramOf(layeredGraph(total, width).actions));

  test("allows hundreds of actions and refuses a thousand", () => {
    expect(sized(300, 20)).toBe(false);
    expect(sized(1_000, 40)).toBe(true);
  });

  test("counts the layers that edges cross", () => {
    const chain = Array.from({ length: 100 }, (_, index) =>
      anAction(`a${index}`, { depends_on: [...(index > 0 ? ["a0", `a${index - 1}`] : [])] }),
    );
    expect(isTooLarge(diagramOf(chain.slice(0, 20)))).toBe(false);
    expect(isTooLarge(diagramOf(chain))).toBe(true);
  });
});

describe("placed nodes", () => {
  const diamond = diagramOf([
    anAction("a"),
    anAction("b", { depends_on: ["a"] }),
    anAction("c", { depends_on: ["a"] }),
    anAction("d", { depends_on: ["b", "c", "a"] }),
  ]);

  test.each([false, true])("stand in layers and do not overlap (vertical: %s)", (isVertical) => {
    const { places } = placeNodes(diamond, isVertical);
    const along = (id: string) => places.get(id)?.[isVertical ? "y" : "x"] ?? Number.NaN;
    const across = (id: string) => places.get(id)?.[isVertical ? "x" : "y"] ?? Number.NaN;
    const size = isVertical ? NODE.height : NODE.width;
    expect(along("b")).toBe(along("c"));
    expect(along("b") - along("a")).toBeGreaterThan(size);
    expect(along("d") - along("b")).toBeGreaterThan(size);
    expect(Math.abs(across("b") - across("c"))).toBeGreaterThan(isVertical ? NODE.width : NODE.height);
  });

  test("let a long edge pass beside the nodes of the layer between", () => {
    const { places, routes } = placeNodes(diamond, false);
    const route = routes.get(edgeKey({ from: "a", to: "d" })) ?? [];
    expect(route.map(({ x }) => x)).toEqual([places.get("b")?.x]);
    for (const id of ["b", "c"])
      expect(Math.abs((route[0]?.y ?? 0) - (places.get(id)?.y ?? 0))).toBeGreaterThan(NODE.height / 2);
    expect(routes.get(edgeKey({ from: "a", to: "b" }))).toEqual([]);
  });

  test("may have the names of members of an object", () => {
    const { places } = placeNodes(
      { ids: ["constructor", "toString"], edges: [{ from: "constructor", to: "toString" }] },
      false,
    );
    expect([...places.keys()]).toEqual(["constructor", "toString"]);
  });

  test("of the largest size that is drawn each have a place of their own", () => {
    const diagram = diagramOf(inRunOrder(layeredGraph(300, 20).actions));
    expect(isTooLarge(diagram)).toBe(false);
    const { places } = placeNodes(diagram, false);
    expect(new Set([...places.values()].map(({ x, y }) => `${x},${y}`)).size).toBe(300);
  });
});

test("the path of an edge is straight beside the nodes that it passes", () => {
  const path = edgePath({ x: 0, y: 0 }, [{ x: 300, y: 50 }], { x: 600, y: 0 }, false);
  expect(path).toBe("M0,0C94,0 94,50 188,50C300,50 300,50 412,50C506,50 506,0 600,0");
  expect(edgePath({ x: 0, y: 0 }, [], { x: 10, y: 100 }, true)).toBe("M0,0C0,50 10,50 10,100");
});

describe("an arrow key", () => {
  const places = new Map([
    ["a", { x: 0, y: 0 }],
    ["b", { x: 300, y: 0 }],
    ["c", { x: 300, y: 100 }],
    ["d", { x: 600, y: 0 }],
  ]);

  test.each([
    ["a", "ArrowRight", "b"],
    ["b", "ArrowRight", "d"],
    ["d", "ArrowLeft", "b"],
    ["b", "ArrowDown", "c"],
    ["c", "ArrowUp", "b"],
    ["a", "ArrowLeft", undefined],
    ["a", "Enter", undefined],
    ["nowhere", "ArrowRight", undefined],
  ])("from %s, %s, leads to %s", (from, key, to) => {
    expect(neighbour(places, from, key)).toBe(to);
  });
});
