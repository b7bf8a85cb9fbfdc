import type { Draft } from "@reins/ledger";
import type { Approval, ControlEvent, Decided, Harness, RequestContext, Subject } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import type { ControlPoint } from "./control-point.ts";
import { enforce, factsOf, isAllowedUnasked, refuseStart } from "./enforce.ts";
import { chargePrompt, complete, completeSetting, perform } from "./outcome.ts";
import { type AskableScope, type ControlContext, type Descent, NATIVE, THIRD_PARTY } from "./scope.ts";

const base = { reason: "rule", rule: "r", enforcement: "asked" } as const;
const ALLOWED: Decided = { ...base, verdict: "allowed", entry: "cid-verdict" };
const BLOCKED: Decided = { ...base, verdict: "blocked", entry: undefined };
const MODIFY: Decided = {
  ...base,
  verdict: "modify",
  modified_arguments: { command: "ls" },
  entry: "cid-verdict",
};

/** A supervisor with scripted decisions; keeps every request and record. */
function control(verdicts: readonly Decided[] = [ALLOWED], more: Partial<ControlContext> = {}) {
  const left = [...verdicts];
  const decided: { event: ControlEvent; subject: Subject; requestContext: RequestContext }[] = [];
  const settled: unknown[] = [];
  const records: Draft[] = [];
  const asked: unknown[] = [];
  const foreseen = { verdict: "allowed", reason: "foreseen", rule: "r" };
  const inForce = new Map<string, unknown>();
  const harness = {
    supervisor: {
      decide: async (event: ControlEvent, subject: Subject, requestContext: RequestContext) => {
        if (requestContext.unattended && foreseen.verdict === "ask")
          return { ...base, verdict: "blocked", reason: foreseen.reason, entry: undefined };
        decided.push({ event, subject, requestContext });
        return left.shift() ?? ALLOWED;
      },
      foresee: async () => foreseen,
      preview: async (event: ControlEvent) => ({ action: { effects: [], opaque: true, event } }),
      settle: async (_: Subject, end: unknown, usage?: unknown) => {
        settled.push(usage === undefined ? end : { end, usage });
        return { entry: "cid-verdict" };
      },
    },
    approvals: {
      get: async (id: string) => ({
        id,
        state: "pending",
        facts: { effects: [], doubts: [], tool: "" },
        options: [],
      }),
      subscribe: (listener: (change: { approval: Partial<Approval> }) => void) => {
        setImmediate(() => listener({ approval: { id: "a", state: "allowed" as Approval["state"] } }));
        return () => undefined;
      },
    },
    identity: {
      subjectFor: ({ principal: _, hosted: __, ...subject }: object & Record<string, unknown>) => subject,
    },
    policies: { roster: {}, inForce },
    record: async (drafts: readonly Draft[]) => {
      records.push(...drafts);
      return { entries: drafts.map((_, index) => ({ cid: `cid-record-${index}` })) };
    },
    forward: () => undefined,
    redact: (value: unknown) => value,
  } as unknown as Harness;
  const context = {
    harness,
    principal: { tenant: "default" },
    entry: { id: "claude" },
    profile: THIRD_PARTY,
    enforcement: "asked",
    enforcementOf: undefined,
    now: () => new Date(0),
    newId: () => "new",
    onFault: (reason: string) => expect.fail(reason),
    ...more,
  } as unknown as ControlContext;
  const writing: Promise<unknown>[] = [];
  const turn = {
    id: "turn-1",
    entries: [] as string[],
    tokens: 0,
    awaits: (one: Promise<unknown>) => void writing.push(one),
    defer: (one: Promise<unknown>) => void writing.push(one),
  };
  const scope = {
    context,
    id: "session-1",
    record: { key: "claude:acp:1" },
    mode: "default",
    depth: 0,
    workspace: { cwd: "/w", roots: ["/w"], tools: "claude-code" },
    served: { cwd: "/w", roots: ["/w"], tools: "acp" },
    toolCalls: { begun: 0 },
    turn,
    clients: {
      notify: () => undefined,
      request: (method: string, params: object) => {
        asked.push({ method, ...params });
        return new Promise<never>(() => undefined);
      },
    },
  } satisfies AskableScope;
  const written = async () => {
    await Promise.all(writing);
    return { entries: turn.entries, records };
  };
  return { scope, turn, decided, settled, records, asked, foreseen, inForce, written };
}

const call = { id: "call-1", reported: { title: "List", kind: "execute", rawInput: { command: "rm" } } };
const payload = { tool_name: "Bash", arguments: { command: "rm" } };
const TOOL_CALL: ControlPoint = { kind: "tool_call", payload, call, takesOnce: true };
const READ: ControlPoint = { kind: "file_access", tool: "fs/read_text_file", arguments: { path: "/w/a" } };
const SEEN: ControlPoint = {
  kind: "after_the_fact",
  payload,
  tools: "agent",
  seen: { call, outcome: "completed" },
};

/** An action without effects. */
const actionOf = (tool: string) => ({
  tool,
  effects: [],
  opaque: false,
  doubts: [],
  claims: {},
  arguments: {},
});

describe("the event of a control point", () => {
  test("names session, agent and depth, and is decided where the agent works", async () => {
    const { scope, decided } = control();
    await enforce({ ...scope, record: { ...scope.record, acts_as: "ann" }, depth: 2 }, TOOL_CALL);
    expect(decided).toMatchObject([
      {
        event: { event_type: "pre_action", session_id: "session-1", agent_id: "ann", depth: 2, payload },
        subject: { agent: "ann", session: "session-1", sessionKey: "claude:acp:1", enforcement: "asked" },
        requestContext: { workspace: { tools: "claude-code" }, turn: "turn-1" },
      },
    ]);
    expect(decided[0]?.subject).not.toHaveProperty("origin");
  });

  test("is at the level of its tool where the sandbox confines that tool alone", async () => {
    const enforcementOf = (tool: string) => (tool === "Bash" ? ("confined" as const) : undefined);
    const { scope, decided } = control([], { enforcementOf, network: "none" as never });
    await enforce(scope, TOOL_CALL);
    await enforce(scope, READ);
    expect(decided.map(({ subject }) => subject)).toMatchObject([
      { enforcement: "confined", network: "none" },
      { enforcement: "performed" },
    ]);
    expect(decided[1]?.subject).not.toHaveProperty("network");
  });

  test("of a client says so", async () => {
    const { scope, decided } = control();
    await enforce(scope, { kind: "setting", tool: "session/set_mode", arguments: {} });
    expect(decided[0]?.subject).toMatchObject({ origin: "client", enforcement: "performed" });
    expect(decided[0]?.requestContext.workspace).toMatchObject({ tools: "acp" });
  });

  test("that is out of reach is bounded by the reason", async () => {
    const { scope, decided } = control([BLOCKED]);
    const enforced = await enforce(scope, { ...READ, outOfReach: "not yours" } as ControlPoint);
    expect(enforced.kind).toBe("refused");
    const [{ event, requestContext } = expect.fail()] = decided;
    expect(requestContext.bounds?.(event, actionOf("fs/read_text_file"))).toBe("not yours");
  });
});

describe("an allowed action", () => {
  test("belongs to its turn, and a tool call is recorded with its verdict", async () => {
    const { scope, written, settled } = control();
    expect(await enforce(scope, TOOL_CALL)).toEqual({ kind: "allowed", verdict: ALLOWED });
    const { entries, records } = await written();
    expect(entries).toEqual(["cid-verdict", "cid-record-0"]);
    expect(records).toMatchObject([
      {
        quality: "tool_call",
        target: "Bash",
        payload: { verdict: "cid-verdict", arguments: { command: "rm" } },
      },
    ]);
    expect(settled).toEqual([]);
  });

  test("is recorded with the arguments that it is performed with", async () => {
    const { scope, written } = control([MODIFY], { profile: NATIVE });
    expect(await enforce(scope, TOOL_CALL)).toMatchObject({
      kind: "modified",
      arguments: { command: "ls" },
    });
    expect((await written()).records).toMatchObject([{ payload: { arguments: { command: "ls" } } }]);
  });

  test("that Reins performs is recorded when it has ended", async () => {
    const { scope, written, settled } = control();
    await enforce(scope, READ);
    expect((await written()).records).toEqual([]);
    const done = { tool: "fs/read_text_file", entry: "cid-verdict" };
    expect(await perform(scope, done, async () => "text")).toBe("text");
    await expect(perform(scope, done, () => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
    expect((await written()).records).toMatchObject([
      { quality: "tool_result", tags: ["completed"], payload: { enforcement: "performed" } },
      { quality: "tool_result", tags: ["failed"] },
    ]);
    const end = { event_type: "pre_action", entry: "cid-verdict" };
    expect(settled).toEqual([
      { ...end, outcome: "completed" },
      { ...end, outcome: "failed" },
    ]);
  });

  test("is recorded outside of the turn under way, where it is a setting", async () => {
    const { scope, written, settled } = control();
    await enforce(scope, { kind: "setting", tool: "session/set_mode", arguments: {} });
    expect(settled).toEqual([]);
    await completeSetting(scope, { tool: "session/set_mode", entry: "cid-verdict", outcome: "failed" });
    const { entries, records } = await written();
    expect(entries).toEqual([]);
    expect(records).toMatchObject([{ quality: "tool_result", target: "session/set_mode", tags: ["failed"] }]);
    expect(settled).toEqual([{ event_type: "pre_action", entry: "cid-verdict", outcome: "failed" }]);
  });

  test("of an agent is completed at the agent's level", async () => {
    const { scope, written } = control();
    await complete(scope, {
      tool: "Bash",
      entry: "cid-verdict",
      outcome: "unknown",
      enforcement: "asked",
    });
    expect((await written()).records).toMatchObject([
      { tags: ["unknown"], payload: { enforcement: "asked" } },
    ]);
  });

  test.each([
    ["a session", { kind: "session_start", tool: "session/new", arguments: {}, origin: "client" }],
    ["unprompted work", { kind: "unprompted_work", message: "plan" }],
    ["what was done already", SEEN],
    ["a command in a prompt", { kind: "agent_command", tool: "session/set_mode", arguments: {} }],
  ] as const)("that no result follows is settled at once: %s", async (_, point) => {
    const { scope, settled } = control();
    await enforce(scope, point);
    expect(settled).toMatchObject([{ entry: "cid-verdict" }]);
  });

  test("that changes a setting is no part of a turn", async () => {
    const { scope, turn } = control();
    await enforce(scope, { kind: "setting", tool: "session/set_mode", arguments: {} });
    expect(turn.entries).toEqual([]);
  });
});

describe("a refused action", () => {
  test("leaves no trace but its verdict", async () => {
    const { scope, written, settled } = control([BLOCKED]);
    expect(await enforce(scope, TOOL_CALL)).toEqual({
      kind: "refused",
      reason: "rule",
      verdict: BLOCKED,
    });
    expect(await written()).toEqual({ entries: [], records: [] });
    expect(settled).toEqual([]);
  });

  test("that was done already is recorded as ungated all the same", async () => {
    const { scope, written } = control([BLOCKED]);
    expect((await enforce(scope, SEEN)).kind).toBe("refused");
    expect((await written()).records).toMatchObject([
      { quality: "tool_call", tags: ["call:call-1", "ungated"], payload: { verdict: null } },
      { quality: "tool_result", tags: ["completed", "ungated"], payload: { enforcement: "observed" } },
    ]);
  });

  test("of a folder out of reach is decided outside of any session", async () => {
    const { scope, decided } = control([BLOCKED]);
    const { harness, principal, entry } = scope.context;
    const workspace = { cwd: "/home", roots: [] };
    const start = {
      kind: "session_start",
      tool: "session/new",
      arguments: { cwd: "/x" },
      origin: "agent",
    } as const;
    const verdict = await refuseStart(
      { harness, principal, entry, workspace },
      { ...start, outOfReach: "not yours" },
    );
    expect(verdict).toBe(BLOCKED);
    expect(decided).toMatchObject([
      { event: { session_id: "none", depth: 0 }, subject: { enforcement: "performed" } },
    ]);
  });
});

describe("people", () => {
  test("are asked on the card of the agent's own call", async () => {
    const { scope, asked } = control([{ ...base, verdict: "ask", approval: "a", entry: undefined }, ALLOWED]);
    expect((await enforce(scope, TOOL_CALL)).kind).toBe("allowed");
    expect(asked).toMatchObject([
      { method: "session/request_permission", toolCall: { toolCallId: "call-1" } },
    ]);
  });

  test("are asked on a card of Reins's about anything else, and shown what is decided", async () => {
    const { scope, asked } = control([{ ...base, verdict: "ask", approval: "a", entry: undefined }, ALLOWED]);
    await enforce(scope, { kind: "prompt", payload: { prompt: "hello" }, origin: "client" });
    const toolCall = { toolCallId: "reins-new", name: "session/prompt", rawInput: { prompt: "hello" } };
    expect(asked).toMatchObject([{ method: "session/request_permission", toolCall }]);
  });

  test("are not asked about a notification, which is refused without a record where a rule would ask", async () => {
    const { scope, decided, foreseen, asked } = control();
    const point = { kind: "setting", tool: "session/set_mode", arguments: {}, isNotification: true } as const;
    expect((await enforce(scope, point)).kind).toBe("allowed");
    foreseen.verdict = "ask";
    expect(await enforce(scope, point)).toMatchObject({ kind: "refused", reason: "foreseen" });
    expect([decided.length, asked.length]).toEqual([1, 0]);
    // An external harness that asks for a person leaves no approval behind.
    expect(decided[0]?.requestContext.unasked).toBe("no person is asked about it");
  });
});

describe("the verdict on what a request to a model is prepared with", () => {
  const advice = { kind: "advice", event_type: "planning", payload: {} } as const;
  const later = () => {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    return { verdict: { ...base, verdict: "allowed", entry: undefined, written: promise } as const, resolve };
  };

  test("is returned before it is written, and noted and settled once it is", async () => {
    const { verdict, resolve } = later();
    const { scope, decided, settled, written } = control([verdict]);
    expect((await enforce(scope, advice)).kind).toBe("allowed");
    expect([decided[0]?.requestContext.deferred, scope.turn.entries, settled]).toEqual([true, [], []]);
    resolve("cid");
    expect((await written()).entries).toEqual(["cid"]);
    expect(settled).toEqual([{ event_type: "planning", entry: "cid" }]);
  });

  test("is written first outside of a turn, and where an external harness could pass it on", async () => {
    const { scope, decided, inForce } = control();
    await enforce({ ...scope, turn: undefined }, advice);
    inForce.set("default", { file: { harnesses: [{}] } });
    await enforce(scope, advice);
    await enforce(scope, { kind: "prompt", payload: {}, origin: "agent" });
    expect(decided.map(({ requestContext }) => requestContext.deferred)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

test("a call that the rules allow needs no person to foresee it, and decides nothing", async () => {
  const { scope, decided, foreseen } = control();
  expect(await isAllowedUnasked(scope, payload)).toBe(true);
  foreseen.verdict = "ask";
  expect(await isAllowedUnasked(scope, payload)).toBe(false);
  expect(decided).toEqual([]);
});

test("the facts of an action are those of the tool table that names it", async () => {
  const { scope } = control();
  expect(await factsOf(scope, payload, "agent")).toMatchObject({ opaque: true, event: { payload } });
});

test("a prompt is charged with what it used", async () => {
  const { scope, settled } = control();
  await chargePrompt(scope, { tokens: 7 });
  expect(settled).toEqual([{ end: { event_type: "pre_prompt" }, usage: { tokens: 7 } }]);
});

describe("a session that another one started", () => {
  const descent: Descent = {
    parent: "p",
    token: "t",
    depth: 1,
    roots: ["/w"],
    tools: ["Read"],
    allowance: { calls: 2, tokens: 10 },
  };
  const boundsOf = async (more: object, point: ControlPoint = TOOL_CALL) => {
    const { scope, decided } = control();
    await enforce({ ...scope, descent, ...more }, point);
    const [{ event, requestContext } = expect.fail()] = decided;
    return requestContext.bounds?.(event, actionOf(point.kind === "tool_call" ? "Bash" : "Read"));
  };

  test("uses no tools but those of its task", async () => {
    expect(await boundsOf({})).toBe("the task was given Read, and not Bash");
    expect(await boundsOf({ descent: { ...descent, tools: undefined } })).toBeUndefined();
    expect(await boundsOf({ descent: { ...descent, tools: [] } })).toBe(
      "the task was given no tools, and not Bash",
    );
  });

  test("uses no more calls and tokens than it was given", async () => {
    const all = { ...descent, tools: undefined };
    expect(await boundsOf({ descent: all, toolCalls: { begun: 3 } })).toBe("the task's 2 calls are used up");
    const prompt: ControlPoint = { kind: "prompt", payload: { tokens_used: 11 }, origin: "agent" };
    expect(await boundsOf({ descent: all }, prompt)).toBe("the task's 10 tokens are used up");
    expect(await boundsOf({ descent: all }, { ...prompt, payload: { tokens_used: 10 } })).toBeUndefined();
  });
});

describe("a requester that loses its rights", () => {
  const lost = () => {
    const made = control([{ ...base, verdict: "ask", approval: "a", entry: undefined }, ALLOWED]);
    const { identity, supervisor } = made.scope.context.harness;
    const { subjectFor } = identity;
    const state = { isLost: false, refused: [] as string[] };
    Object.assign(identity, {
      current: async () => undefined,
      subjectFor: (request: Parameters<typeof subjectFor>[0]) => {
        if (state.isLost) throw new Error("the token was revoked");
        return subjectFor(request);
      },
    });
    Object.assign(supervisor, {
      refuse: async (_: ControlEvent, __: Subject, ___: RequestContext, reason: string) => {
        state.refused.push(reason);
        return { ...BLOCKED, reason };
      },
    });
    return { ...made, state };
  };

  test("is not allowed what people allow later", async () => {
    const { scope, state } = lost();
    const enforcing = enforce(scope, TOOL_CALL);
    state.isLost = true;
    expect(await enforcing).toMatchObject({ kind: "refused", reason: "the token was revoked" });
    expect(state.refused).toEqual(["the token was revoked"]);
  });

  test("is confirmed right before each action is allowed", async () => {
    const { scope, state, decided } = lost();
    await enforce(scope, TOOL_CALL);
    await decided[1]?.requestContext.confirm?.();
    state.isLost = true;
    await expect(decided[1]?.requestContext.confirm?.()).rejects.toThrow("the token was revoked");
  });

  test("has what it did recorded as who it was", async () => {
    const { scope, state, written } = lost();
    await enforce(scope, TOOL_CALL);
    state.isLost = true;
    await complete(scope, { tool: "Bash", entry: "cid", outcome: "completed", enforcement: "asked" });
    const [call, result] = (await written()).records;
    expect(result).toMatchObject({ quality: "tool_result", actor: call?.actor, entity_id: call?.entity_id });
  });
});
