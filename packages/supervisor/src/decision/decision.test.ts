import { loadPolicy, type PolicyVerdict } from "@reins/policy";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { actionOf, subjectOf } from "../../test/approvals/requests.ts";
import { Limits } from "../limits/limits.ts";
import {
  type DecisionRequest,
  OpenCalls,
  PendingDecision,
  payloadFault,
  payloadMembers,
  type RequestContext,
} from "./decision.ts";

describe("a payload", () => {
  test.each([
    ["nothing", undefined, "the payload is no object"],
    ["null", null, "the payload is no object"],
    ["a text", "ls", "the payload is no object"],
    ["a list", [], "the payload is no object"],
    ["half of a surrogate pair", { a: "\ud800" }, /half of a surrogate pair/],
    ["half of a surrogate pair in a name", { a: { "\udc00": 1 } }, /half of a surrogate pair/],
    ["half of a surrogate pair in a list", { a: [{ b: ["\ud800"] }] }, /half of a surrogate pair/],
  ])("of %s cannot be decided", (_, payload, fault) => {
    expect(payloadFault(payload)).toMatch(fault);
  });

  test("nested without end cannot be decided", () => {
    let payload: object = {};
    for (let depth = 0; depth < 10_000; depth += 1) payload = { payload };
    expect(payloadFault(payload)).toMatch(/^the payload is /);
  });

  test("of any other JSON can be decided", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (payload) => {
        expect(payloadFault(JSON.parse(JSON.stringify(payload)))).toBeUndefined();
      }),
    );
  });

  test.each([
    [undefined, {}],
    [null, {}],
    ["text", {}],
    [{ a: 1 }, { a: 1 }],
  ])("%j has the members %j", (payload, members) => {
    expect(payloadMembers(payload)).toEqual(members);
  });
});

describe("open calls", () => {
  const call = (entry: string, tool = "ls") => ({ entry, tool, event_type: "pre_action", uses: [], at: 0 });

  test("end by their entry, wherever they are in order", () => {
    const open = new OpenCalls();
    for (const entry of ["a", "b", "c"]) open.add(subjectOf(), call(entry));
    expect(open.take(subjectOf(), { event_type: "pre_action", entry: "b" })?.entry).toBe("b");
    expect(open.take(subjectOf(), { event_type: "pre_action", entry: "b" })).toBeUndefined();
  });

  test("with a reservation end by their entry alone, also after their session", () => {
    const open = new OpenCalls();
    open.add(subjectOf(), { ...call("a"), isReserved: true });
    open.add(subjectOf(), call("b"));
    expect(open.take(subjectOf(), { event_type: "pre_action" })?.entry).toBe("b");
    expect(open.take(subjectOf(), { event_type: "pre_action" })).toBeUndefined();
    expect(open.takeAll(subjectOf())).toEqual([]);
    expect(open.find(subjectOf(), "a")?.entry).toBe("a");
    expect(open.take(subjectOf(), { event_type: "pre_action", entry: "a" })?.entry).toBe("a");
  });

  test.each([
    ["the oldest of the kind", {}, "a"],
    ["the oldest of the tool", { tool: "edit" }, "b"],
    ["none of another tool", { tool: "rm" }, undefined],
    ["none of another kind", { event_type: "pre_prompt" }, undefined],
  ])("end without an entry as %s", (_, end, entry) => {
    const open = new OpenCalls();
    open.add(subjectOf(), call("a"));
    open.add(subjectOf(), call("b", "edit"));
    expect(open.take(subjectOf(), { event_type: "pre_action", ...end })?.entry).toBe(entry);
  });

  test.each([
    ["user", { user: "bob" }],
    ["tenant", { tenant: "other" }],
    ["agent", { agent: "other" }],
    ["session", { session: "s2" }],
  ])("are those of one %s", (_, other) => {
    const open = new OpenCalls();
    open.add(subjectOf(), call("a"));
    expect(open.take(subjectOf(other), { event_type: "pre_action", entry: "a" })).toBeUndefined();
    expect(open.takeAll(subjectOf(other))).toEqual([]);
    expect(open.takeAll(subjectOf()).map(({ entry }) => entry)).toEqual(["a"]);
    expect(open.takeAll(subjectOf())).toEqual([]);
  });

  test("of a session are bounded: the oldest is forgotten", () => {
    const open = new OpenCalls();
    for (let number = 0; number <= 1_000; number += 1) open.add(subjectOf(), call(`${number}`));
    const left = open.takeAll(subjectOf());
    expect(left).toHaveLength(1_000);
    expect(left[0]?.entry).toBe("1");
  });

  test("of sessions are bounded: the one that was idle longest is forgotten", () => {
    const open = new OpenCalls();
    for (let number = 0; number <= 10_000; number += 1) {
      open.add(subjectOf({ session: `s${number}` }), call("a"));
      if (number === 5_000) open.add(subjectOf({ session: "s0" }), call("b"));
    }
    expect(open.takeAll(subjectOf({ session: "s0" }))).toHaveLength(2);
    expect(open.takeAll(subjectOf({ session: "s1" }))).toHaveLength(0);
    expect(open.takeAll(subjectOf({ session: "s2" }))).toHaveLength(1);
  });
});

describe("a pending decision", () => {
  const event = {
    event_type: "pre_action" as const,
    session_id: "s1",
    agent_id: "reed",
    depth: 0,
    payload: {},
  };

  function pending(rules: string, context: Partial<RequestContext> = {}) {
    const policy = loadPolicy({ file: "c.yaml", rules, prose: new Uint8Array() });
    const request: DecisionRequest = {
      event,
      subject: subjectOf(),
      requestContext: { workspace: { cwd: "/w", roots: ["/w"] }, ...context },
    };
    const state = { policy, limits: new Limits(policy, () => "use"), history: { counters: () => ({}) } };
    const input = {
      ...{ event_type: "pre_action", action: actionOf(), subject: subjectOf(), counters: {}, at: 0 },
    };
    return new PendingDecision(request, state as never, input);
  }

  const ALLOWED = "tool_rules: [{ name: all, condition: {}, verdict: allowed }]";
  const LIMITED = `${ALLOWED}\nlimits: [{ name: few, per: user, within: 1h, calls: 1, exceeded: ask }]`;

  test("begins with the policy's verdict", () => {
    const decision = pending(ALLOWED);
    expect(decision.verdict).toMatchObject({ verdict: "allowed", rule: "all" });
    expect(decision.outcome).toBe("allowed");
    expect(decision.terms).toEqual({});
  });

  test("takes over whose agreement an ask needs, and forgets it with another verdict", () => {
    const decision = pending(ALLOWED);
    const ask = { verdict: "ask", reason: "two people", rule: "two", quorum: 2 } as PolicyVerdict;
    decision.adopt(ask);
    expect(decision.terms).toMatchObject({ quorum: 2 });
    decision.adopt({ verdict: "allowed", reason: "fine", rule: undefined } as PolicyVerdict);
    expect(decision.terms).toEqual({});
  });

  test("reserves limits once", () => {
    const decision = pending(LIMITED);
    decision.reserve();
    const [use] = decision.uses ?? [];
    decision.reserve();
    expect(decision.uses).toEqual([use]);
    expect(decision.isLimited).toBe(false);
  });

  test("asks where a limit that asks is used up, and reserves nothing", () => {
    const decision = pending(LIMITED);
    decision.state.limits.reserve(decision.input);
    decision.reserve();
    expect(decision.verdict).toMatchObject({ verdict: "ask", rule: "few" });
    expect(decision.isLimited).toBe(true);
    expect(decision.uses).toBeUndefined();
  });

  test("reserves nothing for what is not allowed", () => {
    const decision = pending(LIMITED);
    decision.block("no", undefined);
    decision.reserve();
    expect(decision.uses).toBeUndefined();
    expect(decision.outcome).toBe("blocked");
  });

  test("is blocked by the bounds of its session", () => {
    const decision = pending(ALLOWED, { bounds: (_, { tool }) => `${tool} is out of bounds` });
    decision.checkBounds();
    expect(decision.verdict).toEqual({
      verdict: "blocked",
      reason: "edit is out of bounds",
      rule: undefined,
    });
  });

  test("continues with other arguments, of which an allowing verdict is a modification", async () => {
    const decision = pending(ALLOWED);
    const seen: unknown[] = [];
    await decision.become(
      { by: "harness", harness: "other", input: decision.input },
      { path: "b.txt" },
      {
        gatherFacts: async ({ payload }) => {
          seen.push(payload);
          return actionOf({ tool: "other" });
        },
        now: () => 7,
      },
    );
    expect(seen).toEqual([{ arguments: { path: "b.txt" } }]);
    expect(decision.input).toMatchObject({ at: 7, action: { tool: "other" } });
    expect(decision.outcome).toBe("modify");
  });
});
