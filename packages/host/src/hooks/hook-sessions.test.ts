import { systemClock } from "@reins/kit";
import type { HookEvent, Principal, Subject } from "@reins/supervisor";
import { expect, test } from "vitest";
import { HookSessions } from "./hook-sessions.ts";

const OPERATOR = { id: "local", tenant: "default", user: "operator" } as Principal;
const EVENT: HookEvent = {
  event_type: "pre_action",
  ...{ session_id: "claude-s", agent_id: "claude", payload: { tool_name: "Bash" } },
  metadata: { hook: { event: "PreToolUse", cwd: "/w", root: "/w" } },
};

/** Hooks with one session of the operator, which keeps what it shows. */
function withSession() {
  const shown: unknown[] = [];
  const session = {
    id: EVENT.session_id,
    record: { key: "claude:ahp:claude-s", tenant: "default", user: "operator", cwd: "/w" },
    append: async (event: unknown) => void shown.push(event),
    apply: async () => undefined,
  };
  const sessions = { get: () => session, serve: () => session };
  const hub = { sessions, clock: systemClock, harness: { redact: (value: unknown) => value } };
  const hooks = new HookSessions(hub as never, { admit: async () => ({ real: ["/w"] }) } as never);
  return { hooks, shown: () => shown.map((each) => Object(each).message.params.update) };
}

const SUBJECT = {
  ...{ tenant: "default", user: "operator", agent: "claude", session: EVENT.session_id },
} as Subject;

test("a session shows what its user's agent did, and nothing of a user of the same name in another tenant", async () => {
  const { hooks, shown } = withSession();
  await hooks.workspaceOf(EVENT, OPERATOR);
  await hooks.show(EVENT, { ...SUBJECT, tenant: "other" });
  expect(shown()).toEqual([]);
  await hooks.show(EVENT, SUBJECT);
  expect(shown()).toHaveLength(1);
});

/** What a hook reports of a call: that it is to begin, or its end. */
function callEvent(event_type: HookEvent["event_type"], named: Readonly<Record<string, string>>): HookEvent {
  const hook = { event: "x", cwd: "/w", root: "/w", ...named };
  return {
    ...EVENT,
    event_type,
    payload: { tool_name: "Bash", result: { success: true } },
    metadata: { hook },
  };
}

test.each(["call", "digest"])(
  "each result is shown with its own call, where agents tell them apart by a %s",
  async (name) => {
    const { hooks, shown } = withSession();
    for (const call of ["a", "b", "b"]) {
      const event = callEvent("pre_action", { [name]: call });
      await hooks.workspaceOf(event, OPERATOR);
      await hooks.show(event, SUBJECT, { decision: "allow", metadata: { entry: `entry of ${call}` } });
    }
    const ended = [];
    for (const call of ["b", "a", "c"]) {
      const event = callEvent("post_action", { [name]: call });
      ended.push(hooks.endedCall(event, { ...SUBJECT, user: "other" }), hooks.endedCall(event, SUBJECT));
      await hooks.show(event, SUBJECT);
    }
    expect(ended.map((call) => call && (call.entry ?? "none"))).toEqual([
      ...[undefined, "entry of b"],
      ...[undefined, "entry of a"],
      ...[undefined, "none"],
    ]);
    const [a, b, , ...results] = shown();
    expect(results).toMatchObject([
      { sessionUpdate: "tool_call_update", toolCallId: b.toolCallId },
      { sessionUpdate: "tool_call_update", toolCallId: a.toolCallId },
      { sessionUpdate: "tool_call", _meta: { reins: { ungated: true } } },
    ]);
  },
);

test("a sub-agent is shown from its begin to its end, and its calls as its own", async () => {
  const { hooks, shown } = withSession();
  const child = { subagent: "a7", subagent_type: "Explore" };
  const said = (event: string, payload = {}): HookEvent => ({
    ...callEvent("heartbeat", { event, ...child }),
    payload,
  });
  for (const event of [
    said("SubagentStart"),
    callEvent("pre_action", { call: "1", ...child }),
    said("SubagentStop", { response: "found" }),
  ]) {
    await hooks.workspaceOf(event, OPERATOR);
    await hooks.show(event, SUBJECT, { decision: "allow" });
  }
  expect(shown()).toMatchObject([
    { toolCallId: "subagent:a7", title: "sub-agent Explore", status: "in_progress" },
    { toolCallId: "1", _meta: { reins: child } },
    { toolCallId: "subagent:a7", status: "completed", content: [{ content: { text: "found" } }] },
  ]);
});

test("a result belongs to no verdict where its call was refused after it had been allowed", async () => {
  const { hooks } = withSession();
  const event = callEvent("pre_action", { call: "a" });
  await hooks.workspaceOf(event, OPERATOR);
  await hooks.show(event, SUBJECT, { decision: "allow", metadata: { entry: "entry" } });
  await hooks.show(event, SUBJECT, { decision: "block", reason: "no" });
  expect(hooks.endedCall(callEvent("post_action", { call: "a" }), SUBJECT)).toEqual({ entry: undefined });
});
