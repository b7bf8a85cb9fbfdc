import { expect, test } from "vitest";
import { graphOf } from "../../test/graphs.ts";
import { artifactAction, type Reference } from "./reference.ts";
import { inheritVisibility, type ReferenceSource, VISIBLE } from "./visibility.ts";

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
