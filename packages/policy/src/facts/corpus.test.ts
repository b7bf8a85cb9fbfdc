import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { attacks, eventOf, type Ordinary, ordinaryActions } from "../../test/corpus.ts";
import { Machine } from "../../test/machine.ts";
import type { Action, Effect } from "../action.ts";
import { isHarmless } from "../conditions/conditions.ts";
import { gatherFacts } from "./gather.ts";

let machine: Machine;

beforeAll(async () => {
  machine = await Machine.lay();
});
afterAll(() => machine[Symbol.asyncDispose]());

function factsOf(one: Parameters<typeof eventOf>[0]): Promise<Action> {
  return gatherFacts(eventOf(one, machine), machine.context(one.agent ?? "claude-code"));
}

function fits(effect: Effect, pattern: Readonly<Record<string, unknown>>): boolean {
  const members = new Map<string, unknown>(Object.entries(effect));
  return Object.entries(pattern).every(([name, value]) =>
    Array.isArray(value) ? value.includes(members.get(name)) : members.get(name) === value,
  );
}

describe("corpus/attacks.jsonl", () => {
  const all = attacks();

  it("has at least 300 cases, each with an id of its own and a source", () => {
    expect(all.length).toBeGreaterThanOrEqual(300);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(all.every(({ source, why }) => source !== "" && why)).toBe(true);
  });

  it.each(all.map((one) => [one.id, one.why, one] as const))("%s is seen: %s", async (_, __, one) => {
    const action = await factsOf(one);
    const { opaque, effects = [], doubt } = one.expect;
    expect(isHarmless(action)).toBe(false);
    if (opaque !== undefined) expect(action.opaque).toBe(opaque);
    for (const pattern of effects) {
      expect(action.effects, JSON.stringify(pattern)).toSatisfy((found: Effect[]) =>
        found.some((effect) => fits(effect, pattern)),
      );
    }
    if (doubt !== undefined) expect(action.doubts.join("\n")).toContain(doubt);
    if (action.opaque) expect(action.doubts).not.toEqual([]);
  });
});

describe("corpus/ordinary.jsonl", () => {
  const all = ordinaryActions();

  /** Which kind of permission an action needs, by its facts alone. */
  function kindOf(action: Action): Ordinary["expect"] {
    if (isHarmless(action)) return "harmless";
    const alone = (effect: Effect): Action => ({ ...action, opaque: false, doubts: [], effects: [effect] });
    const paths = action.effects.filter(({ kind }) => kind === "read" || kind === "write");
    if (paths.some((effect) => !isHarmless(alone(effect)))) return "asked";
    if (action.effects.some(({ kind }) => kind === "net")) return "network";
    return action.opaque ? "opaque" : "asked";
  }

  it("has at least 200 actions, each with an id of its own", () => {
    expect(all.length).toBeGreaterThanOrEqual(200);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  });

  it.each(all.map((one) => [one.id, one.expect, one] as const))("%s is %s", async (_, expected, one) => {
    const action = await factsOf(one);
    expect([kindOf(action), action.doubts]).toEqual([expected, expect.anything()]);
  });
});
