import { describe, expect, it } from "vitest";
import { graphOf } from "../../test/graphs.ts";
import { assertNoConflict } from "./conflicts.ts";

const writes: Readonly<Record<string, readonly string[]>> = {
  a: ["src"],
  b: ["src/x"],
  c: ["docs"],
  d: ["*"],
};
const refuse = (actions: readonly object[], conflict_resolution = "refuse") =>
  assertNoConflict(graphOf(actions, { conflict_resolution }), ({ id }) => writes[id] ?? []);

describe("A graph that refuses conflicts", () => {
  it("is refused where two actions write the same and neither waits for the other", () => {
    expect(() => refuse([{ id: "a" }, { id: "b" }])).toThrow("a and b would write the same resource");
    expect(() => refuse([{ id: "c" }, { id: "d" }])).toThrow("c and d");
  });

  it("is accepted where they are in order, also by way of others, or write other things", () => {
    refuse([{ id: "a" }, { id: "c" }, { id: "e" }]);
    refuse([
      { id: "b", depends_on: ["e"] },
      { id: "e", when: [{ action: "a", status: "completed" }] },
      { id: "a" },
    ]);
  });

  it("is accepted with the default, which runs one after the other", () => {
    refuse([{ id: "a" }, { id: "b" }], "serialize");
  });
});
