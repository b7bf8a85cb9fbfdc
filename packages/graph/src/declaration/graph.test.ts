import { describe, expect, it } from "vitest";
import { graphOf } from "../../test/graphs.ts";
import { readDeclared } from "./carrier.ts";
import { assertNoConflict } from "./conflicts.ts";
import type { ProtocolDeclaration } from "./grammar.ts";
import { graphOfDeclaration } from "./graph.ts";

const actionOf = (action: object = {}, envelope: object = {}) =>
  graphOf([{ id: "a", ...action }], envelope).actions[0]!;

describe("A person is asked before an action", () => {
  it.each([
    [{ requires_approval: true }, {}, "the action requires approval"],
    [{ permission_policy: { requires_approval: true } }, {}, "the action requires approval"],
    [{}, { permission_policy: { requires_approval: true } }, "the declaration requires approval"],
    [{}, { approval_gates: [{ before: "a" }] }, "a gate of the declaration"],
    [{}, { approval_gates: [{ before: "a", message: "Look first." }] }, "a gate of the declaration"],
    [
      { side_effects: ["read", "delete"] },
      { permission_policy: { approval_for: ["delete"] } },
      "the declaration asks before it would delete",
    ],
    [{ side_effects: ["read"] }, { permission_policy: { approval_for: ["delete"] } }, undefined],
    [{ requires_approval: false }, { approval_gates: [{ before: "a" }] }, "a gate of the declaration"],
    [{}, {}, undefined],
  ])("with %j in %j: %s", (action, envelope, approval) => {
    expect(actionOf(action, envelope).approval).toBe(approval);
  });
});

describe("What an action leaves out, the envelope says", () => {
  it("of who sees its result, and whether it may be shown again", () => {
    const envelope = { data_visibility: ["user"], privacy: { replay: "never" } };
    const seen = { model: false, user: true, logs: false, futureRuns: false };
    expect(actionOf({}, envelope)).toMatchObject({ visibility: seen });
    const never = { model: false, user: true, logs: true, futureRuns: false };
    expect(actionOf({ privacy: { replay: "never" } })).toMatchObject({ visibility: never });
    const own = { data_visibility: ["model", "logs", "future_runs"], privacy: { replay: "allowed" } };
    const other = { model: true, user: false, logs: true, futureRuns: true };
    expect(actionOf(own, envelope)).toMatchObject({ visibility: other });
    expect(actionOf()).toMatchObject({
      visibility: { model: true, user: true, logs: true, futureRuns: true },
    });
  });

  it("of what is returned, and what a cancel does", () => {
    const envelope = { result_granularity: "full", cancellation_policy: { running: "finish" } };
    expect(actionOf({}, envelope)).toMatchObject({ result: { return_to_model: "full" }, onCancel: "finish" });
    const own = { result_policy: { return_to_model: "none" }, cancellation_policy: { running: "abort" } };
    expect(actionOf(own, envelope)).toMatchObject({ result: { return_to_model: "none" }, onCancel: "abort" });
    expect(actionOf()).toMatchObject({
      result: { return_to_model: "summary", store_full: true },
      onCancel: "abort",
    });
  });

  it("of how it is shown to people", () => {
    expect(actionOf({ title: "T", ui_projection: { visible: false, label: "L" } })).toMatchObject({
      ...{ title: "T", label: "L", isShown: false },
    });
    expect(actionOf()).toMatchObject({ title: "a", label: "a", isShown: true });
  });
});

describe("A run is durable", () => {
  it.each([
    [{}, {}, false],
    [{ persist: false }, {}, false],
    [{ persist: true }, {}, true],
    [{ execution: { mode: "durable", strategy: "dag" } }, {}, true],
    [{ execution: { mode: "ephemeral" } }, {}, false],
    [{}, { persist: true }, true],
  ])("with %j and an action with %j: %s", (envelope, action, isDurable) => {
    expect(graphOf([{ id: "a", ...action }], envelope).isDurable).toBe(isDurable);
  });
});

it.each([
  [{ persist: true }, {}, true],
  [{ persist: true }, { persist: false }, false],
  [{ execution: { mode: "durable", strategy: "dag" } }, { persist: false }, false],
  [{ persist: false }, { persist: true }, true],
])("An action with %j and %j of its own persists: %s", (envelope, action, persist) => {
  expect(graphOf([{ id: "a", ...action }], envelope).actions[0]?.persist).toBe(persist);
});

describe("An action waits for another", () => {
  it.each([
    [{ depends_on: ["b"] }],
    [{ context_refs: ["action:b.summary"] }],
    [{ context_refs: ["artifact:b"] }],
    [{ input: { x: [{ $ref: "action:b.output" }] } }],
    [{ input: { x: { $ref: "artifact://call_b" } } }],
  ])("that it names or refers to: %j", (action) => {
    expect(graphOf([{ id: "b" }, { id: "a", ...action }]).actions[1]?.dependsOn).toEqual(["b"]);
  });
});

describe("A declaration of another version", () => {
  it("is read where it says that it is compatible with this one", () => {
    const declared = { type: "agent.protocol", intent: "execute", payload: { actions: [] } };
    const evolved = { ...declared, version: "2", schema_evolution: { compatible_with: ["1"] } };
    expect(readDeclared(evolved)).toMatchObject({ version: "2" });
  });
});

describe("A revision", () => {
  const revise = (kept: readonly string[]) => {
    const payload = { run_id: "r", actions: [{ id: "new", depends_on: ["old"] }] };
    const declared = readDeclared({ type: "agent.protocol", version: "1", intent: "revise", payload });
    const revision = declared as Extract<ProtocolDeclaration, { intent: "revise" }>;
    return graphOfDeclaration(revision, [], new Set(kept));
  };

  it("may depend on what the run keeps, and on nothing else", () => {
    expect(revise(["old"]).actions[0]?.dependsOn).toEqual(["old"]);
    expect(() => revise([])).toThrow('there is no action "old"');
  });
});

// Where the work for any of these grew with its square, the tests would not come to their end.
describe("A declaration as large as may be", { timeout: 30_000 }, () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => `a${index}`);

  it("has each section read once, however often it is referred to", () => {
    const actions = ids.map((id) => ({ id, context_refs: new Array<string>(200).fill("md:long") }));
    const text = "word ".repeat(200_000);
    const others = Array.from({ length: 100_000 }, (_, index) => ({ id: `h${index}`, level: 2, text: "" }));
    const declared = readDeclared({
      ...{ type: "agent.protocol", version: "1", intent: "execute" },
      payload: { actions },
    }) as Extract<ProtocolDeclaration, { intent: "execute" }>;
    const { sections } = graphOfDeclaration(declared, [...others, { id: "long", level: 2, text }]);
    expect(sections.map(({ id }) => id)).toEqual(["long"]);
  });

  it("is checked where everything waits, on conditions, for everything before", () => {
    const actions = ids.map((id, index) => ({
      ...{ id, depends_on: ids.slice(0, index) },
      when: index === 0 ? [] : [{ action: ids[index - 1], status: "completed" }],
    }));
    const graph = graphOf(actions, { conflict_resolution: "refuse" });
    assertNoConflict(graph, () => ["src"]);
    const last = { id: "last", depends_on: ["a998"], when: [{ action: "a0", status: "failed" }] };
    expect(() => graphOf([...actions.slice(0, -1), last])).toThrow("last needs a0 to end both");
  });

  it("is checked where everything writes much, in one folder within the other or in none", () => {
    const nested = Array.from({ length: 200 }, (_, depth) => "x/".repeat(depth + 1).slice(0, -1));
    const graph = graphOf(
      ids.map((id) => ({ id })),
      { conflict_resolution: "refuse" },
    );
    const own = (action: string) => nested.map((path) => `${action}/${path}`);
    const apart = (action: string) => nested.map((_, index) => `${action}/${index}`);
    for (const writes of [own, apart]) assertNoConflict(graph, ({ id }) => writes(id));
    expect(() => assertNoConflict(graph, ({ id }) => (id === "a999" ? ["a5/x/x"] : own(id)))).toThrow(
      "a5 and a999 would write the same resource",
    );
    const chain = ids.map((id, index) => ({ id, depends_on: index === 0 ? [] : [ids[index - 1]] }));
    assertNoConflict(graphOf(chain, { conflict_resolution: "refuse" }), () => nested);
  });

  it.each([
    ["side effects", { side_effects: new Array(9).fill("read") }],
    ["effects to be asked about", { permission_policy: { approval_for: new Array(9).fill("read") } }],
    ["audiences", { data_visibility: new Array(5).fill("model") }],
    ["written resources", { resources: { writes: new Array(201).fill("src") } }],
    ["read resources", { resources: { reads: new Array(201).fill("src") } }],
  ])("has a bounded number of %s", (_, more) => {
    expect(() => graphOf([{ id: "a", ...more }])).toThrow(/^payload\.actions\.0\..* at most \d+/);
  });
});
