import type { JsonObject } from "@reins/acp";
import { type LoggedEvent, questionId, TURN_OVER, turnsOf } from "@reins/host";
import { describe, expect, test } from "vitest";
import { orderedId } from "./shapes.ts";
import { SessionTranscript } from "./transcript.ts";

const KEY = "00000000-0000-4000-8000-000000000000";
const ENTRY = { toolNames: { members: ["name"], aliases: [], kinds: {} } };

/** A transcript, and what writes to its log. */
function written(most = 10) {
  const session = { id: "s1", agent: "native", cwd: "/work", entry: ENTRY as never };
  const transcript = new SessionTranscript(session, most);
  let order = 0;
  const log: LoggedEvent[] = [];
  const take = (message: JsonObject, more: Partial<LoggedEvent> = {}) => {
    order += 1;
    const event = { tenant: "t", session: "s1", epoch: 1, at: 1_000 + order, order, message, ...more };
    log.push(event);
    return transcript.take(event);
  };
  const update = (given: JsonObject) =>
    take({ method: "session/update", params: { sessionId: "s1", update: given } });
  const said = (sessionUpdate: string, text: string, more: JsonObject = {}) =>
    update({ sessionUpdate, content: { type: "text", text }, ...more });
  const over = (payload: JsonObject) =>
    take({ method: TURN_OVER, params: { draft: { payload } } }, { session: turnsOf("s1") });
  return { transcript, take, update, said, over, log, session };
}

const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

describe("a transcript", () => {
  test("joins pieces of text, and keeps reasoning, text and calls apart and in order", () => {
    const { transcript, said, update, over } = written();
    said("user_message_chunk", "one");
    said("user_message_chunk", "two");
    said("agent_thought_chunk", "hm");
    said("agent_message_chunk", "a");
    said("agent_message_chunk", "b");
    update({ sessionUpdate: "tool_call", toolCallId: "c1", name: "run_command" });
    update({ sessionUpdate: "tool_call_update", toolCallId: "c1", rawInput: { command: "ls" } });
    update({ sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed", rawOutput: "x" });
    said("agent_message_chunk", "c");
    over({ stop_reason: "end_turn", usage: { input_tokens: 3, output_tokens: 4, cost: 0.5 } });
    const [user, assistant] = transcript.messages;
    expect(user?.parts.map(({ text }) => text)).toEqual(["one", "two"]);
    expect(assistant?.parts.map(({ type, text }) => [type, text])).toEqual([
      ["reasoning", "hm"],
      ["text", "ab"],
      ["tool", undefined],
      ["text", "c"],
    ]);
    expect(assistant?.parts[2]).toMatchObject({
      ...{ tool: "bash", callID: "c1" },
      state: { status: "completed", input: { command: "ls" }, output: "x" },
    });
    expect(assistant?.info).toMatchObject({
      ...{ parentID: user?.info.id, finish: "stop", cost: 0.5 },
      tokens: { input: 3, output: 4 },
    });
  });

  test("makes the same ids and events from the same log, in the order of their ids", () => {
    const { said, over, log, session, transcript } = written();
    for (const words of ["first", "second"]) {
      said("user_message_chunk", words);
      said("agent_message_chunk", `answer to ${words}`);
      over({ stop_reason: "end_turn" });
    }
    const again = new SessionTranscript(session, 10);
    for (const event of log) again.take(event);
    expect(again.messages).toEqual(transcript.messages);
    const ids = transcript.messages.map(({ info }) => info.id);
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(4);
  });

  test.each([
    ["cancelled", "MessageAbortedError"],
    ["error", "UnknownError"],
    ["interrupted", "UnknownError"],
  ])("shows that a turn ended as %s, also if the agent said nothing", (stop_reason, name) => {
    const { transcript, said, over } = written();
    said("user_message_chunk", "x");
    expect(typesOf(over({ stop_reason })).slice(-2)).toEqual(["session.status", "session.idle"]);
    expect(transcript.messages[1]).toMatchObject({ info: { error: { name } }, parts: [] });
  });

  test("begins another turn for the next prompt if the end of the last one is missing", () => {
    const { transcript, said } = written();
    said("user_message_chunk", "x", { _meta: { reins: { prompt: "msg_1" } } });
    said("agent_message_chunk", "half");
    said("user_message_chunk", "y", { _meta: { reins: { prompt: "msg_2" } } });
    expect(transcript.messages.map(({ info }) => [info.role, info.time.completed !== undefined])).toEqual([
      ["user", false],
      ["assistant", true],
      ["user", false],
    ]);
  });

  test("takes no name of a prompt that could be no id", () => {
    const { transcript, said } = written();
    said("user_message_chunk", "x", { _meta: { reins: { prompt: "a\nb" } } });
    expect(transcript.messages[0]?.info.id).toBe(orderedId("msg", { at: 1_001, order: 1 }));
  });

  test("is asked once for each question, and sees its end", () => {
    const { take, said } = written();
    const params = { toolCall: { toolCallId: "c1", name: "Write" }, _meta: { reins: { approval: "apr_1" } } };
    const ask = () => take({ method: "session/request_permission", params }, { request: KEY });
    const cancel = () => take({ method: "$/cancel_request", params: { requestId: questionId(KEY) } });
    expect(cancel()).toEqual([]);
    said("user_message_chunk", "x");
    expect(typesOf(ask())).toEqual(["message.updated", "message.part.updated", "asked"]);
    expect(ask()).toEqual([]);
    expect(cancel()).toEqual([{ type: "replied", approval: "apr_1" }]);
    expect(cancel()).toEqual([]);
  });

  test("shows its newest turn as it is to a client that has seen none of it", () => {
    const { transcript, take, said, update, over } = written();
    expect(transcript.newestTurn).toEqual([]);
    said("user_message_chunk", "earlier");
    said("agent_message_chunk", "answer");
    over({ stop_reason: "end_turn" });
    said("user_message_chunk", "x");
    said("agent_message_chunk", "half of ");
    said("agent_message_chunk", "it");
    update({ sessionUpdate: "tool_call", toolCallId: "c1", name: "Write" });
    const params = { toolCall: { toolCallId: "c1" }, _meta: { reins: { approval: "apr_1" } } };
    take({ method: "session/request_permission", params }, { request: KEY });
    const [user, assistant] = transcript.messages.slice(-2);
    const shown = [user, assistant].flatMap((message) => [
      { type: "message.updated", properties: expect.objectContaining({ info: message?.info }) },
      ...(message?.parts ?? []).map((part) => ({
        type: "message.part.updated",
        properties: expect.objectContaining({ part }),
      })),
    ]);
    expect(shown).toHaveLength(5);
    const tool = { messageID: assistant?.info.id, callID: "c1" };
    expect(transcript.newestTurn).toEqual([
      ...shown,
      { type: "session.status", properties: { sessionID: "ses_s1", status: { type: "busy" } } },
      { type: "asked", approval: "apr_1", tool },
    ]);
    over({ stop_reason: "end_turn" });
    expect(typesOf(transcript.newestTurn).slice(-2)).toEqual(["session.status", "session.idle"]);
    expect(typesOf(transcript.newestTurn)).not.toContain("asked");
  });

  test("shows a state of a call once, however often it is reported, and when it ended first", () => {
    const { transcript, update, said } = written();
    said("user_message_chunk", "x");
    update({ sessionUpdate: "tool_call", toolCallId: "c1", rawInput: { path: "a" } });
    const end = { sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed", rawOutput: "b" };
    expect(typesOf(update(end))).toEqual(["message.part.updated"]);
    const [part] = transcript.messages[1]?.parts ?? [];
    const { time } = Object(part?.state);
    expect(update({ ...end, _meta: { reins: { verdict: "allowed" } } })).toEqual([]);
    expect(typesOf(update({ ...end, rawOutput: "more" }))).toEqual(["message.part.updated"]);
    expect(transcript.messages[1]?.parts).toMatchObject([{ state: { output: "more", time } }]);
  });

  test("begins no message for what comes after a turn about that turn", () => {
    const { transcript, take, said, update, over } = written();
    said("user_message_chunk", "x");
    update({ sessionUpdate: "tool_call", toolCallId: "c1" });
    over({ stop_reason: "error" });
    update({ sessionUpdate: "tool_call_update", toolCallId: "c1", status: "failed" });
    update({ sessionUpdate: "tool_call_update", toolCallId: "other", status: "failed" });
    const params = { toolCall: { toolCallId: "c1" }, _meta: { reins: { approval: "apr_1" } } };
    const asked = take({ method: "session/request_permission", params }, { request: KEY });
    expect(asked).toEqual([{ type: "asked", approval: "apr_1" }]);
    expect(transcript.messages).toHaveLength(2);
    expect(transcript.messages[1]?.parts).toMatchObject([{ state: { status: "error" } }]);
  });

  test("reads hostile messages without failing, and keeps no more than it may", () => {
    const { transcript, take, update, said, over } = written(3);
    for (const params of [null, 1, [], { update: null }, { update: { sessionUpdate: 7 } }])
      expect(take({ method: "session/update", params })).toEqual([]);
    for (const update_ of [
      { sessionUpdate: "plan", entries: [null, { content: 1, status: "x" }] },
      { sessionUpdate: "tool_call", toolCallId: 1 },
      { sessionUpdate: "agent_message_chunk", content: null },
      { sessionUpdate: "user_message_chunk" },
    ])
      update(update_);
    expect(transcript.todos).toEqual([
      { content: "", status: "pending", priority: "medium" },
      { content: "", status: "pending", priority: "medium" },
    ]);
    for (let turn = 0; turn < 5; turn += 1) {
      said("user_message_chunk", "x");
      over({ stop_reason: {}, usage: "none" });
    }
    expect(transcript.messages).toHaveLength(3);
  });
});
