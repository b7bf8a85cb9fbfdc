import { describe, expect, test } from "vitest";
import { DelegatedUsage, delegationLimits } from "./scope.ts";

const ALLOWANCE = { calls: 2, tokens: 100 };
type Point = Parameters<typeof delegationLimits>[2];
const AGENTS_ACTION: Point = { event_type: "pre_action", origin: "agent" };

/** A delegated session with what it has used. */
function limitsOf({
  begun = 0,
  tokens = 0,
  cost,
  budget,
  tools,
  point = AGENTS_ACTION,
  actions = { count: 0 },
  usage,
}: {
  readonly begun?: number;
  readonly tokens?: number;
  readonly cost?: number;
  readonly budget?: number;
  readonly tools?: readonly string[];
  readonly point?: Point;
  readonly actions?: { count: number };
  readonly usage?: DelegatedUsage;
} = {}) {
  const turn = { id: "t", entries: [], tokens, cost, awaits: () => undefined, defer: () => undefined };
  const scope = { toolCalls: { begun }, turn, actions };
  const allowance = { ...ALLOWANCE, cost: budget };
  const limits = delegationLimits(scope, { tools, allowance, usage }, point);
  const bounds = (event_type: "pre_action" | "pre_prompt" | "post_action", tool = "Bash", payload = {}) =>
    limits.bounds({ event_type, session_id: "s", agent_id: "a", depth: 1, payload }, tool);
  return { ...limits, bounds, actions };
}

describe("the limits of a delegated session", () => {
  test("count an action once, however often it is decided", () => {
    const { bounds, actions } = limitsOf();
    expect([bounds("pre_action"), bounds("pre_action")]).toEqual([undefined, undefined]);
    expect(actions.count).toBe(1);
  });

  test("refuse an action once its money is used up, and none where nothing is known of it", () => {
    expect(limitsOf({ cost: 0.4, budget: 0.5 }).bounds("pre_action")).toBeUndefined();
    expect(limitsOf({ cost: 0.5, budget: 0.5 }).bounds("pre_action")).toBe(
      "the task's budget of 0.5 is used up",
    );
    expect(limitsOf({ cost: 7 }).bounds("pre_action")).toBeUndefined();
    expect(limitsOf({ budget: 0.5 }).bounds("pre_action")).toBeUndefined();
  });

  test("refuse an action for which actions under way leave no room", () => {
    const actions = { count: 0 };
    const [first, second, third] = [limitsOf({ actions }), limitsOf({ actions }), limitsOf({ actions })];
    expect(first.bounds("pre_action") ?? second.bounds("pre_action")).toBeUndefined();
    expect(third.bounds("pre_action")).toBe("the task's 2 calls are used up");
    third.uncount();
    expect(actions.count).toBe(2);
    first.uncount();
    first.uncount();
    expect(actions.count).toBe(1);
    expect(third.bounds("pre_action")).toBeUndefined();
  });

  test("count nothing that the agent does not do itself", () => {
    for (const point of [
      { event_type: "pre_action", origin: "client" },
      { event_type: "pre_prompt", origin: "agent" },
    ] as const) {
      const { bounds, uncount, actions } = limitsOf({ point, actions: { count: 2 } });
      expect(bounds(point.event_type)).toBeUndefined();
      uncount();
      expect(actions.count).toBe(2);
    }
  });

  test("refuse a tool that the task was not given, before it is counted", () => {
    const { bounds, actions } = limitsOf({ tools: ["Read", "Grep"] });
    expect(bounds("pre_action", "Bash")).toBe("the task was given Read, Grep, and not Bash");
    expect(actions.count).toBe(0);
    expect(bounds("pre_action", "Read")).toBeUndefined();
    expect(limitsOf({ tools: [] }).bounds("pre_action")).toContain("given no tools");
  });

  test("refuse what follows more calls or tokens than were given, by the greater of what is reported", () => {
    expect(limitsOf({ begun: 3 }).bounds("pre_prompt")).toContain("2 calls");
    expect(limitsOf({ begun: 2 }).bounds("pre_prompt")).toBeUndefined();
    expect(limitsOf({ tokens: 101 }).bounds("pre_prompt")).toContain("100 tokens");
    expect(limitsOf({ tokens: 100 }).bounds("pre_prompt")).toBeUndefined();
    expect(limitsOf().bounds("pre_prompt", "", { tokens_used: 101 })).toContain("100 tokens");
    expect(limitsOf({ tokens: 101 }).bounds("pre_prompt", "", { tokens_used: 1 })).toContain("100 tokens");
    expect(limitsOf({ begun: 3, tokens: 101 }).bounds("post_action")).toBeUndefined();
  });
});

const PROMPT: Point = { event_type: "pre_prompt", origin: "agent" };
const asks = (used: Parameters<typeof limitsOf>[0]) =>
  limitsOf({ ...used, point: PROMPT }).bounds("pre_prompt");

describe("the limits of a task that gives some of it away", () => {
  const money = 0.5;
  const made = () => {
    const top = new DelegatedUsage({ ...ALLOWANCE, cost: money }, undefined);
    const below = () => new DelegatedUsage({ ...ALLOWANCE, cost: money }, top);
    return { top, one: below(), two: below() };
  };

  test("hold for it and for all that it started together", () => {
    const { top, one, two } = made();
    expect(asks({ usage: one, tokens: 60 })).toBeUndefined();
    expect(asks({ usage: two, tokens: 40 })).toBeUndefined();
    expect(asks({ usage: two, tokens: 41 })).toBe("the 100 tokens of the task above are used up");
    expect(asks({ usage: one, tokens: 60 })).toContain("of the task above");
    expect(asks({ usage: top })).toBe("the task's 100 tokens are used up");
  });

  test("count what one used that has ended, and each use once", () => {
    const { top, one } = made();
    for (const tokens of [10, 10, 30]) asks({ usage: one, tokens });
    one.note({ tokens: 50, cost: 0.25 });
    expect(top.below).toMatchObject({ tokens: 50, cost: 0.25 });
    expect(asks({ usage: top, tokens: 50, cost: 0.1, budget: money })).toBeUndefined();
    expect(asks({ usage: top, tokens: 50, cost: 0.25, budget: money })).toBe(
      "the task's budget of 0.5 is used up",
    );
  });

  test("hold for calls, and those that were not allowed are not counted", () => {
    const { top, one, two } = made();
    const [first, second, third] = [
      limitsOf({ usage: one }),
      limitsOf({ usage: two }),
      limitsOf({ usage: two }),
    ];
    expect([first.bounds("pre_action"), second.bounds("pre_action")]).toEqual([undefined, undefined]);
    expect(third.bounds("pre_action")).toContain("calls are used up");
    expect(limitsOf({ usage: top }).bounds("pre_action")).toContain("2 calls are used up");
    first.uncount();
    expect(third.bounds("pre_action")).toBeUndefined();
  });
});
