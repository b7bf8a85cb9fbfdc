import { TURN_ENDED } from "@reins/host";
import { expect, test } from "vitest";
import { SessionHistory } from "./views.ts";

const entry = { toolNames: { members: [], aliases: [], kinds: {} } };
const AT = Date.parse("2026-01-02T03:04:05Z");

function newHistory() {
  const history = new SessionHistory("s1", entry);
  const update = (sessionUpdate: string, members: object, except?: string) =>
    history.add({
      message: { method: "session/update", params: { update: { sessionUpdate, ...members } } },
      at: AT,
      ...(except !== undefined && { except }),
    });
  const text = (words: string) => ({ content: { type: "text", text: words } });
  return {
    history,
    update,
    prompt: (words: string) => update("user_message_chunk", text(words), "a client"),
    say: (words: string) => update("agent_message_chunk", text(words)),
    think: (words: string) => update("agent_thought_chunk", text(words)),
    end: (turn: unknown) => history.add({ message: { method: TURN_ENDED, params: { turn } }, at: AT }),
    rows: () =>
      history.finish().map(({ role, content, turn_id }) => [role, JSON.parse(content), turn_id] as const),
  };
}

test("joins chunks of the same kind and separates text from reasoning", () => {
  const { prompt, think, say, end, rows } = newHistory();
  prompt("Fix it.");
  think("h");
  think("m");
  say("Do");
  say("ne.");
  end("t1");
  expect(rows()).toEqual([
    ["user", [{ type: "text", text: "Fix it." }], "t1"],
    [
      "assistant",
      [
        { thinking: "hm", type: "thinking" },
        { type: "text", text: "Done." },
      ],
      "t1",
    ],
  ]);
});

test("has a tool call with the assistant and its result with the user", () => {
  const { prompt, update, say, end, rows } = newHistory();
  prompt("List.");
  update("tool_call", { toolCallId: "c1", title: "ls", rawInput: { path: "." } });
  update("tool_call_update", { toolCallId: "c1", status: "completed", rawOutput: "a.txt" });
  say("One file.");
  end("t1");
  expect(rows().map(([role, [block]]) => [role, block.type])).toEqual([
    ["user", "text"],
    ["assistant", "tool_use"],
    ["user", "tool_result"],
    ["assistant", "text"],
  ]);
});

test("numbers rows across turns, and gives a turn without an end mark no id", () => {
  const { history, prompt, say, end } = newHistory();
  prompt("one");
  say("first");
  prompt("two");
  say("second");
  end("t2");
  prompt("three");
  expect(history.finish().map(({ id, seq, turn_id, created_at }) => [id, seq, turn_id, created_at])).toEqual([
    ["s1:0", 0, null, "2026-01-02T03:04:05.000Z"],
    ["s1:1", 1, null, "2026-01-02T03:04:05.000Z"],
    ["s1:2", 2, "t2", "2026-01-02T03:04:05.000Z"],
    ["s1:3", 3, "t2", "2026-01-02T03:04:05.000Z"],
    ["s1:4", 4, null, "2026-01-02T03:04:05.000Z"],
  ]);
});

test("ignores a prompt that the agent repeats and messages that are no updates", () => {
  const { history, update, end, rows } = newHistory();
  update("user_message_chunk", { content: { type: "text", text: "repeated" } });
  history.add({ message: { method: "_other/notification", params: {} }, at: AT });
  end(7);
  expect(rows()).toEqual([]);
});

test("keeps blocks of a prompt that are not text", () => {
  const { update, end, rows } = newHistory();
  const link = { type: "resource_link", uri: "file:///x", name: "x" };
  update("user_message_chunk", { content: link }, "a client");
  end("t1");
  expect(rows()).toEqual([["user", [link], "t1"]]);
});
