import type { JsonObject } from "@reins/acp";
import { describe, expect, test } from "vitest";
import { BLOCKED, testSession } from "../../test/governed-session.ts";
import {
  flushUpdates,
  forwardFromAgent,
  forwardFromChild,
  isStateUpdate,
  redactObject,
  showUpdate,
} from "./updates.ts";

const words = (text: string): JsonObject => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
});

/** A session in a turn. */
function inTurn(...given: Parameters<typeof testSession>) {
  const governed = testSession(...given);
  governed.session.beginTurn(governed.turn);
  const update = async (one: unknown, more: JsonObject = {}) => {
    await forwardFromAgent(governed.session, "session/update", {
      sessionId: "agent-session",
      update: one,
      ...more,
    });
    await flushUpdates(governed.session);
  };
  return { ...governed, update };
}

describe("an update of an agent", () => {
  test("goes to clients under the session's own id, with what is beside it but no _meta.reins", async () => {
    const { update, shown } = inTurn();
    await update(words("hello"), { _meta: { reins: { verdict: "allowed" }, acme: 1 }, seq: 7 });
    expect(shown).toEqual([
      { method: "session/update", sessionId: "session", seq: 7, _meta: { acme: 1 }, update: words("hello") },
    ]);
  });

  test("that is no object is a fault", async () => {
    const { update, shown, faults } = inTurn();
    await update("hello");
    expect([shown, faults]).toEqual([[], ["the agent sent an update that is no object"]]);
  });

  test("is not shown any more when the session is being closed, but applied", async () => {
    const { session, update, shown } = inTurn();
    session.isClosing = true;
    await update({ sessionUpdate: "current_mode_update", currentModeId: "plan" });
    expect([session.claimedMode, shown]).toEqual(["plan", []]);
  });

  test("notes commands also while a session is replayed, and a mode only when it is live", async () => {
    const { session, update } = inTurn();
    session.replaying = true;
    await update({ sessionUpdate: "available_commands_update", availableCommands: [{ name: "init" }, {}] });
    await update({ sessionUpdate: "current_mode_update", currentModeId: "plan" });
    expect([session.commands, session.claimedMode]).toEqual([["init"], undefined]);
  });

  test("with a plan is the list of tasks of the turn's run", async () => {
    const { update, turn, sent } = inTurn();
    await update({
      sessionUpdate: "plan",
      entries: [{ content: "look", status: "completed" }, { status: "odd" }],
    });
    await turn.written();
    const tasks = [
      { id: "1", title: "look", status: "completed" },
      { id: "2", title: "", status: "pending" },
    ];
    expect(sent).toMatchObject([["task_list", { run_id: "turn", session_id: "session", tasks }]]);
  });

  test("is written once more in the turn's hash of what was said", async () => {
    const { update, turn } = inTurn();
    const before = turn.hashes.outputs_hash;
    await update(words("hello"));
    await update({ sessionUpdate: "usage_update", used: 50, cost: { amount: 2, currency: "USD" } });
    expect(turn.hashes.outputs_hash).not.toBe(before);
    expect([turn.tokens, turn.usage({ usage: { totalTokens: 9 } })]).toEqual([50, { tokens: 9, cost: 2 }]);
  });
});

test("more open calls than are remembered are recorded, and end the turn", async () => {
  const { session, update, records, sent } = inTurn();
  const call = (toolCallId: string) => ({ sessionUpdate: "tool_call", toolCallId, status: "in_progress" });
  for (let index = 0; index < 10_000; index += 1) session.toolCalls.note(call(`c${index}`));
  session.toolCalls.permit("c1", { kind: "given", entry: "cid", tool: "Bash" });
  await update(call("one more"));
  expect(session.toolCalls.open).toEqual([]);
  const results = records.filter(({ quality }) => quality === "tool_result");
  expect(results).toHaveLength(10_001);
  expect(results.filter(({ tags }) => !tags?.includes("ungated"))).toHaveLength(1);
  expect(sent).toEqual([["session/cancel", { sessionId: "agent-session" }]]);
});

describe("an option that an agent is held at", () => {
  const held = (currentValue: unknown) => ({
    sessionUpdate: "config_option_update",
    configOptions: [
      { id: "model", currentValue: "large" },
      { id: "auto_approve", type: "boolean", currentValue },
    ],
  });

  test("is recorded and set back where the agent reports another value", async () => {
    const { session, update, turn, decided, sent } = inTurn();
    session.pinnedOptions.set("auto_approve", false);
    await update(held(false));
    expect([decided, sent]).toEqual([[], []]);
    await update(held(true));
    await turn.written();
    const given = { option: "auto_approve", value: true, asks: "false" };
    expect(decided).toMatchObject([
      { event_type: "post_action", payload: { tool_name: "session/set_config_option", arguments: given } },
    ]);
    expect(sent).toMatchObject([
      ["session/set_config_option", { sessionId: "agent-session", configId: "auto_approve", value: false }],
    ]);
    await update(held(true));
    await turn.written();
    expect(sent.at(-1)).toEqual(["session/cancel", { sessionId: "agent-session" }]);
  });

  test("is left alone where a client sets it", async () => {
    const { session, update, turn, decided, sent } = inTurn();
    session.pinnedOptions.set("auto_approve", false);
    session.pendingOption = { id: "auto_approve", value: true };
    await update(held(true));
    await turn.written();
    expect([decided, sent]).toEqual([[], []]);
  });
});

describe("a mode that an agent reports", () => {
  const bypass = { sessionUpdate: "current_mode_update", currentModeId: "bypassPermissions" };
  const setBack = ["session/set_mode", { sessionId: "agent-session", modeId: "default" }];
  const cancel = ["session/cancel", { sessionId: "agent-session" }];

  /** A session whose agent was put into the mode of its launch profile. */
  function pinned(...given: Parameters<typeof testSession>) {
    const governed = inTurn(...given);
    governed.session.pinnedMode = "default";
    const reported = async (one: JsonObject) => {
      await governed.update(one);
      await governed.turn.written();
    };
    return { ...governed, reported };
  }

  test("is a claim, and never the mode that Reins set", async () => {
    const { session, reported, decided, sent } = pinned();
    await reported({ ...bypass, currentModeId: "plan" });
    expect([session.mode, session.claimedMode]).toEqual(["default", "plan"]);
    expect([decided, sent]).toEqual([[], []]);
  });

  test.each([
    bypass,
    {
      sessionUpdate: "config_option_update",
      configOptions: [{ id: "mode", currentValue: "bypassPermissions" }],
    },
  ])("is recorded and set back where the agent does not ask in it: $sessionUpdate", async (left) => {
    const { session, reported, decided, records, sent, shown } = pinned();
    await reported(left);
    expect(decided).toMatchObject([
      {
        event_type: "post_action",
        payload: {
          tool_name: "session/set_mode",
          arguments: { mode: "bypassPermissions", asks: "false" },
        },
      },
    ]);
    expect(records.map(({ quality }) => quality)).toEqual(["tool_call", "tool_result"]);
    expect(sent).toEqual([setBack]);
    expect([session.mode, session.claimedMode]).toEqual(["default", "default"]);
    const restored = { sessionUpdate: "current_mode_update", currentModeId: "default" };
    expect(shown.map(({ update }) => update)).toContainEqual(restored);
  });

  test("ends the turn where it cannot be set back, or comes again", async () => {
    const stubborn = pinned({ refuses: ["session/set_mode"] });
    await stubborn.reported(bypass);
    expect(stubborn.sent).toEqual([setBack, cancel]);
    const again = pinned();
    await again.reported(bypass);
    await again.reported(bypass);
    expect(again.sent).toEqual([setBack, setBack, cancel]);
  });

  test("is left alone where a client or a verdict put the agent into it", async () => {
    const { session, turn, reported, sent } = pinned();
    session.pendingMode = "bypassPermissions";
    await reported(bypass);
    session.pendingMode = undefined;
    turn.mayLeaveMode = true;
    await reported(bypass);
    turn.mayLeaveMode = false;
    await reported(bypass);
    expect(sent).toEqual([]);
  });
});

describe("a notification of an agent beside updates", () => {
  test("reaches clients if it is custom or one of ACP's, and is a fault otherwise", () => {
    const { session, shown, faults } = testSession();
    for (const method of ["_acme/ping", "elicitation/complete", "session/prompt"])
      void forwardFromAgent(session, method, { sessionId: "agent-session", x: 1 });
    expect(shown).toEqual([
      { method: "_acme/ping", sessionId: "session", x: 1 },
      { method: "elicitation/complete", sessionId: "session", x: 1 },
    ]);
    expect(faults).toEqual(['the agent sent "session/prompt", which is not for agents']);
  });
});

describe("a child session", () => {
  test("is recorded when it is announced, once, and ends the turn where it is blocked", async () => {
    const { session, update, decided, records, sent, shown } = inTurn({ verdicts: [BLOCKED] });
    const announced = { sessionUpdate: "subagent_update", sessionId: "child", title: "look" };
    await update(announced);
    await update({ ...announced, title: "look again" });
    expect(decided).toMatchObject([
      { event_type: "post_action", payload: { tool_name: "session/subagent", title: "look" } },
    ]);
    expect(records.map(({ quality }) => quality)).toEqual(["tool_call", "tool_result"]);
    expect(sent).toEqual([["session/cancel", { sessionId: "agent-session" }]]);
    expect([session.children.has("child"), shown.length]).toEqual([true, 3]);
  });

  test("has its calls kept apart from those of its parent, and its words dropped", async () => {
    const { session, shown } = inTurn();
    const call = { sessionUpdate: "tool_call", toolCallId: "1", status: "pending" };
    await forwardFromChild(session, { sessionId: "child", update: call });
    await forwardFromChild(session, { sessionId: "child", update: words("of a child") });
    await flushUpdates(session);
    expect(session.toolCalls.get("child/1")).toBeDefined();
    expect(shown).toMatchObject([{ update: { toolCallId: "child/1" } }]);
  });

  test("of the native agent is its worker, which was decided before", async () => {
    const { update, decided } = inTurn({ profile: { isObserved: false } });
    await update({ sessionUpdate: "subagent_update", sessionId: "child" });
    expect(decided).toEqual([]);
  });
});

test("updates that report state differ from history", () => {
  const of = (sessionUpdate: unknown) => isStateUpdate({ update: { sessionUpdate } });
  expect(["current_mode_update", "agent_message_chunk", 5].map(of)).toEqual([true, false, false]);
});

test("what Reins itself shows goes to clients too", async () => {
  const { session, shown } = testSession();
  await showUpdate(session, words("from Reins"));
  await flushUpdates(session);
  expect(shown).toMatchObject([{ update: words("from Reins") }]);
});

test("a value that a redactor does not give back as an object is none", () => {
  expect(redactObject(() => "[redacted]", { a: 1 })).toEqual({});
});
