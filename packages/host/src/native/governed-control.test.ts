import type { ControlPort } from "@reins/agent";
import type { Harness } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import { ALLOWED, BLOCKED, type TestGovernance, testSession } from "../../test/governed-session.ts";
import { StandingVerdicts } from "../control/standing-verdicts.ts";
import type { Governor } from "../governor/governor.ts";
import { GovernedControl } from "./governed-control.ts";

const { signal } = new AbortController();
const call = { sessionId: "agent-session", signal };
const PROMPT = {
  ...{ session_id: "agent-session", prompt: "hi", message_count: 1, model: "demo", request: 1 },
  tokens_used: 0,
  purpose: "turn",
} as const;
const MEMORY = {
  ...{ session_id: "agent-session", query: "q", memory_type: "fact", max_results: 1 },
  working_directory: "/w",
};

/** Control over one session, with what was advised, kept and left to the defaults. */
function control({ advice, ...governance }: TestGovernance & { readonly advice?: unknown } = {}) {
  const governed = testSession({ ...governance, profile: { isObserved: false } });
  const { session } = governed;
  const advised: unknown[] = [];
  const noted: unknown[] = [];
  const defaulted: unknown[] = [];
  const harness = {
    ...session.context.harness,
    advise: async (...asked: unknown[]) => {
      advised.push(asked);
      return advice;
    },
    reports: { note: async (_: unknown, kind: string, payload: unknown) => void noted.push([kind, payload]) },
  } as unknown as Harness;
  Object.assign(session.context, { harness });
  const defaults = {
    ask: async (type: string, payload: unknown) => {
      defaulted.push([type, payload]);
      return { decision: "allow" };
    },
    report: () => undefined,
    charge: async () => undefined,
  } as unknown as ControlPort;
  const governor = {
    sessionOf: (id: string) => (id === "agent-session" ? session : undefined),
    sessions: [session],
  } as unknown as Governor;
  const standing = new StandingVerdicts(harness);
  const { principal } = session.context;
  const isPriced = (model: string) => model === "demo";
  const options = { governor: () => governor, harness, standing, principal, defaults, isPriced };
  const made = new GovernedControl({ ...options, onFault: (reason) => void governed.faults.push(reason) });
  return { ...governed, control: made, advised, noted, defaulted };
}

describe("a request to a model", () => {
  test("is decided as the agent's prompt, and left to the defaults where it is allowed", async () => {
    const { control: made, decided, defaulted } = control();
    expect(await made.ask("pre_prompt", PROMPT, call)).toEqual({ decision: "allow" });
    expect(decided).toMatchObject([{ event_type: "pre_prompt", payload: { prompt: "hi" } }]);
    expect(defaulted).toMatchObject([["pre_prompt", PROMPT]]);
  });

  test("is blocked or modified as the verdict says", async () => {
    const modified = { ...ALLOWED, verdict: "modify", modified_arguments: { prompt: "ho" } } as const;
    const { control: made } = control({ verdicts: [BLOCKED, modified] });
    expect(await made.ask("pre_prompt", PROMPT, call)).toEqual({ decision: "block", reason: "it may not" });
    expect(await made.ask("pre_prompt", PROMPT, call)).toEqual({
      decision: "modify",
      modified_payload: { prompt: "ho" },
    });
  });

  test("waits for the deferred verdicts before it, and is blocked where one cannot be written", async () => {
    const { control: made, session, turn } = control();
    session.beginTurn(turn);
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    turn.defer(promise);
    const asked = made.ask("pre_prompt", PROMPT, call);
    expect(await Promise.race([asked, new Promise((done) => setImmediate(done, "waits"))])).toBe("waits");
    resolve("cid");
    expect(await asked).toEqual({ decision: "allow" });
    turn.defer(Promise.resolve(undefined));
    expect(await made.ask("pre_prompt", PROMPT, call)).toMatchObject({ decision: "block" });
    expect(await made.ask("pre_prompt", PROMPT, call)).toEqual({ decision: "allow" });
  });

  test("of a turn that was cut off waits for the agent to be stopped, and is not decided", async () => {
    const { control: made, session, decided } = control();
    session.isCut = true;
    const stop = new AbortController();
    const asked = made.ask("pre_prompt", PROMPT, { ...call, signal: stop.signal });
    stop.abort(new Error("stopping"));
    await expect(asked).rejects.toThrow("stopping");
    expect(decided).toEqual([]);
  });

  test("of an unknown session fails, which blocks it", async () => {
    const { control: made, decided } = control();
    const asked = made.ask("pre_prompt", PROMPT, { ...call, sessionId: "other" });
    await expect(asked).rejects.toThrow("there is no session other");
    expect(decided).toEqual([]);
  });

  test("is charged to the session's limits", async () => {
    const { control: made, charged } = control();
    await made.charge({ tokens: 7 }, call);
    await made.charge({ tokens: 7 }, { sessionId: "other" });
    expect(charged).toEqual([{ tokens: 7 }]);
  });
});

describe("a question of the typed families", () => {
  test("is answered by the operator's harness, by the session's own id", async () => {
    const advice = { decision: "allow", injected_facts: [] };
    const { control: made, advised, defaulted } = control({ advice });
    expect(await made.ask("memory_recall", MEMORY, call)).toBe(advice);
    expect(advised).toEqual([["default", "memory_recall", { ...MEMORY, session_id: "session" }]]);
    expect(defaulted).toEqual([]);
  });

  test("is answered by the advisor where no harness does", async () => {
    const { control: made, defaulted } = control();
    await made.ask("memory_recall", MEMORY, call);
    expect(defaulted).toEqual([["memory_recall", MEMORY]]);
  });
});

describe("a request for advice", () => {
  test("is decided once while nothing changes, before anything answers it", async () => {
    const { control: made, decided, advised } = control();
    for (let turn = 0; turn < 3; turn += 1) await made.ask("memory_recall", MEMORY, call);
    expect(decided).toMatchObject([{ event_type: "memory_recall", payload: { query: "q" } }]);
    expect(advised).toHaveLength(3);
  });

  test("gets none where it is blocked, from no harness and no default", async () => {
    const { control: made, advised, defaulted } = control({ verdicts: [BLOCKED, BLOCKED] });
    const intent = { session_id: "agent-session", prompt: "fix it", workspace: "/w" };
    expect(await made.ask("memory_recall", MEMORY, call)).toEqual({
      decision: "block",
      reason: "it may not",
    });
    expect(await made.ask("intent_detection", intent, call)).toMatchObject({
      detected_intent: "conversation",
    });
    expect([advised, defaulted]).toEqual([[], []]);
  });

  test("of an unknown session fails", async () => {
    const { control: made, defaulted } = control();
    await expect(made.ask("memory_recall", MEMORY, { ...call, sessionId: "other" })).rejects.toThrow(
      "there is no session other",
    );
    expect(defaulted).toEqual([]);
  });
});

describe("a report", () => {
  const success = { session_id: "agent-session", action_type: "turn", action_summary: "", duration_ms: 1 };

  test("is kept with the session under its own id", () => {
    const { control: made, noted } = control();
    made.report("success", success, call);
    expect(noted).toEqual([["success", { ...success, session_id: "session" }]]);
  });

  test("of a run is noted under the id of the governor's turn", () => {
    const { control: made, session, turn, sent } = control();
    session.beginTurn(turn);
    const updated_at = "2026-01-01T00:00:00.000Z";
    made.report("task_list", { run_id: "r", session_id: "agent-session", tasks: [], updated_at }, call);
    expect(sent).toEqual([["task_list", { run_id: "turn", session_id: "session", tasks: [], updated_at }]]);
  });

  test("that the agent lives is one of each session that has a turn", () => {
    const { control: made, session, turn, noted } = control();
    const beat = { uptime_ms: 1, total_events_processed: 0, current_state: "", memory_bytes: 1 };
    made.report("heartbeat", { ...beat, pending_actions: 0 });
    expect(noted).toEqual([]);
    session.beginTurn(turn);
    made.report("heartbeat", { ...beat, pending_actions: 1 });
    expect(noted).toMatchObject([["heartbeat", { pending_actions: 1 }]]);
  });

  test("of a turn that was cut off is left to the next start", () => {
    const { control: made, session, noted } = control();
    session.isCut = true;
    made.report("success", success, call);
    expect(noted).toEqual([]);
  });
});
