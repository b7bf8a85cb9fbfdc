import { expect, test } from "vitest";
import { type Random, seededRandom } from "../../../../scripts/torture/random.ts";
import { graphOf } from "../../test/graphs.ts";
import { artifactAction, type Reference } from "./reference.ts";
import { inheritVisibility, mayHandOver, type ReferenceSource, VISIBLE, type Viewer } from "./visibility.ts";

const MERGE = { executor: { type: "runtime", target: "merge" } };

/** The audiences of each action, by what it refers to. */
function visibleTo(
  actions: readonly object[],
  outside: (reference: Reference) => ReferenceSource = () => undefined,
) {
  const graph = graphOf(actions);
  const ids = new Set(graph.actions.map(({ id }) => id));
  const inherited = inheritVisibility(graph.actions, (reference) => {
    const named =
      reference.kind === "action"
        ? reference.action
        : reference.kind === "artifact" && reference.run === undefined
          ? artifactAction(reference.name, ids)
          : undefined;
    return named === undefined ? outside(reference) : { action: named };
  });
  return Object.fromEntries(
    inherited.map(({ id, visibility }) => [
      id,
      Object.entries(visibility).flatMap(([audience, isShown]) => (isShown ? audience : [])),
    ]),
  );
}

test.each([
  ["its context", { context_refs: ["action:secret.output"] }],
  ["a summary in its context", { context_refs: ["action:secret.summary"] }],
  ["its input", { input: { deep: [{ $ref: "action:secret.output" }] } }],
  ["an artifact", { context_refs: ["artifact:secret"] }],
  ["a call's artifact", { context_refs: ["artifact://call_secret"] }],
])("an action that gets a withheld result by %s is withheld as that is", (_, more) => {
  const seen = visibleTo([
    { id: "secret", ...MERGE, data_visibility: ["logs"] },
    { id: "derived", ...MERGE, ...more },
  ]);
  expect(seen).toEqual({ secret: ["logs"], derived: ["logs"] });
});

test("it stays withheld through any number of actions, and joins what each of them withholds", () => {
  const chain = Array.from({ length: 300 }, (_, index) => ({
    ...{ id: `a${index}`, ...MERGE },
    ...(index > 0 && { context_refs: [`action:a${index - 1}.output`] }),
    ...(index === 0 && { privacy: { replay: "never" } }),
    ...(index === 200 && { data_visibility: ["model", "user"] }),
  }));
  const seen = visibleTo(chain.toReversed());
  expect([seen.a0, seen.a199]).toEqual([
    ["user", "logs"],
    ["user", "logs"],
  ]);
  expect([seen.a200, seen.a299]).toEqual([["user"], ["user"]]);
});

test("what merely runs after a withheld result is shown", () => {
  const seen = visibleTo([
    { id: "secret", ...MERGE, data_visibility: ["logs"] },
    { id: "after", ...MERGE, depends_on: ["secret"], when: [{ action: "secret", status: "completed" }] },
  ]);
  expect(seen.after).toEqual(["model", "user", "logs", "futureRuns"]);
});

test("a result of another run is withheld as it is there", () => {
  const actions = [{ id: "a", ...MERGE, context_refs: ["runtime://runs/other/actions/x/output"] }];
  expect(visibleTo(actions, () => ({ ...VISIBLE, model: false })).a).toEqual(["user", "logs", "futureRuns"]);
});

const AUDIENCES = ["model", "user", "logs", "future_runs"] as const;
const EXECUTORS = [
  { type: "agent" },
  { type: "human" },
  { type: "tool", target: "read_file" },
  { type: "runtime", target: "merge" },
  {},
];

/** A graph of actions that depend on earlier ones, and refer to some of them, with any visibility. */
function anyGraph(random: Random) {
  const count = 2 + random.int(9);
  return Array.from({ length: count }, (_, index) => {
    const earlier = Array.from({ length: index }, (__, before) => `a${before}`);
    return {
      id: `a${index}`,
      executor: random.pick(EXECUTORS),
      depends_on: earlier.filter(() => random.chance(0.4)),
      context_refs: earlier.filter(() => random.chance(0.1)).map((id) => `action:${id}.output`),
      ...(random.chance(0.5) && { data_visibility: AUDIENCES.filter(() => random.chance(0.7)) }),
      ...(random.chance(0.1) && { privacy: { replay: "never" } }),
    };
  });
}

test("what an agent hands over reaches none that it is withheld from, through any number of others", () => {
  const random = seededRandom(17);
  let handed = 0;
  for (let round = 0; round < 3_000; round += 1) {
    const { actions } = graphOf(anyGraph(random));
    const inherited = inheritVisibility(actions, (reference) =>
      reference.kind === "action" ? { action: reference.action } : undefined,
    );
    const byId = new Map(inherited.map((action) => [action.id, action]));
    const declared = new Map(actions.map((action) => [action.id, action]));
    /** Of each action, everything that its result may hold something of. */
    const sources = new Map<string, ReadonlySet<string>>();
    for (const { id, dependsOn, context, executor, visibility } of inherited) {
      // An executor that is chosen later may be an agent, or a person.
      const audiences: readonly (readonly Viewer[])[] =
        executor.type === undefined
          ? [["model", "user"], ["user"]]
          : executor.type === "agent"
            ? [["model", "user"]]
            : executor.type === "human"
              ? [["user"]]
              : [[]];
      const given = dependsOn.filter((from) => {
        const other = byId.get(from) ?? expect.fail();
        const mayBeAgent = other.executor.type === "agent" || other.executor.type === undefined;
        return mayBeAgent && audiences.some((one) => mayHandOver(other.visibility, visibility, one));
      });
      const referred = context.flatMap((one) => (one.kind === "action" ? [one.action] : []));
      handed += given.length;
      const direct = [...given, ...referred];
      sources.set(id, new Set(direct.flatMap((one) => [one, ...(sources.get(one) ?? [])])));
      for (const source of sources.get(id) ?? [])
        for (const audience of ["model", "user", "logs", "futureRuns"] as const)
          if (visibility[audience]) expect(declared.get(source)?.visibility[audience]).toBe(true);
      // What a declared agent shows models and people is given to a declared agent.
      if (executor.type === "agent")
        for (const from of dependsOn.map((one) => byId.get(one) ?? expect.fail()))
          if (from.executor.type === "agent" && from.visibility.model && from.visibility.user)
            expect(given).toContain(from.id);
    }
  }
  expect(handed).toBeGreaterThan(1_000);
});
