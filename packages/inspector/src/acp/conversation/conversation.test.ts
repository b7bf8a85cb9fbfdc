import { describe, expect, test } from "vitest";
import {
  type Conversation,
  EMPTY_CONVERSATION,
  fetchHistory,
  type ReceivedUpdate,
  withNote,
  withUpdates,
} from "./conversation.ts";
import { settingsIn } from "./settings.ts";

type Update = ReceivedUpdate["update"];

const text = (value: string) => ({ type: "text", text: value });
const chunk = (sessionUpdate: string, value: string, more: object = {}): Update => ({
  sessionUpdate,
  content: text(value),
  ...more,
});
const told = (...updates: Update[]): Conversation =>
  withUpdates(
    EMPTY_CONVERSATION,
    updates.map((update, at) => ({ update, at })),
  );
const toolIn = ({ items }: Conversation) =>
  items.flatMap((item) => (item.kind === "tool" ? [item.call] : []));

describe("what is said", () => {
  test("chunks of one speaker are one message, another speaker begins another", () => {
    const { items } = told(
      chunk("user_message_chunk", "hi"),
      chunk("agent_thought_chunk", "hm"),
      chunk("agent_message_chunk", "Hel"),
      chunk("agent_message_chunk", "lo"),
    );
    expect(items).toMatchObject([
      { from: "user", text: "hi" },
      { from: "thought", text: "hm" },
      { from: "agent", text: "Hello" },
    ]);
  });

  test("messages that the agent names are told apart, and so are two prompts in a row", () => {
    const { items } = told(
      chunk("agent_message_chunk", "a", { messageId: "1" }),
      chunk("agent_message_chunk", "b", { messageId: "2" }),
      chunk("user_message_chunk", "one", { _meta: { reins: { prompt: "p1" } } }),
      chunk("user_message_chunk", "two", { _meta: { reins: { prompt: "p2" } } }),
    );
    expect(items.map((item) => item.kind === "message" && item.text)).toEqual(["a", "b", "one", "two"]);
  });

  test("what the harness says stands for itself, with what it says it about", () => {
    const { items } = told(
      chunk("agent_message_chunk", "so"),
      chunk("agent_message_chunk", "cut off", { _meta: { reins: { interrupted: true } } }),
      chunk("agent_message_chunk", "again"),
    );
    expect(items).toMatchObject([
      { from: "agent", text: "so", said: undefined },
      { from: "harness", text: "cut off", said: { interrupted: true } },
      { from: "agent", text: "again", said: undefined },
    ]);
  });

  test("pictures and links are named, never loaded", () => {
    const { items } = told(
      { sessionUpdate: "agent_message_chunk", content: { type: "image", mimeType: "image/png", data: "…" } },
      {
        sessionUpdate: "agent_message_chunk",
        content: { type: "resource_link", uri: "file:///a", name: "a" },
      },
    );
    expect(items).toMatchObject([{ text: "[image (image/png)][a]" }]);
  });

  test("an item that has not changed is the same object, so that it need not be drawn again", () => {
    const before = told(chunk("user_message_chunk", "hi"), chunk("agent_message_chunk", "a"));
    const after = withUpdates(before, [{ update: chunk("agent_message_chunk", "b"), at: 1 }]);
    expect(after.items[0]).toBe(before.items[0]);
    expect(after.items[1]).not.toBe(before.items[1]);
    expect(before.items[1]).toMatchObject({ text: "a" });
  });
});

describe("tool calls", () => {
  test("are told of step by step, under one id, and keep what is not told again", () => {
    const conversation = told(
      {
        sessionUpdate: "tool_call",
        toolCallId: "1",
        title: "ls",
        kind: "execute",
        rawInput: { command: "ls" },
      },
      chunk("agent_message_chunk", "meanwhile"),
      { sessionUpdate: "tool_call_update", toolCallId: "1", status: "in_progress" },
      {
        sessionUpdate: "tool_call_update",
        toolCallId: "1",
        status: "completed",
        content: [
          { type: "content", content: text("a\nb") },
          { type: "diff", path: "/a", oldText: null, newText: "x" },
        ],
      },
    );
    expect(conversation.items).toHaveLength(2);
    expect(toolIn(conversation)).toMatchObject([
      {
        id: "1",
        title: "ls",
        status: "completed",
        input: { command: "ls" },
        content: [
          { kind: "text", text: "a\nb" },
          { kind: "diff", path: "/a", before: "", after: "x" },
        ],
        began: 0,
        ended: 3,
      },
    ]);
  });

  test("carry the verdict, whenever it comes", () => {
    const verdict = { verdict: "allowed", rule: "r", reason: "fine", enforcement: "performed", entry: "e" };
    const [call] = toolIn(
      told(
        { sessionUpdate: "tool_call", toolCallId: "1", title: "ls" },
        { sessionUpdate: "tool_call_update", toolCallId: "1", _meta: { reins: verdict } },
        { sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed" },
      ),
    );
    expect(call).toMatchObject({ verdict, status: "completed" });
  });

  test("that are told again were not timed", () => {
    const update = { sessionUpdate: "tool_call", toolCallId: "1", title: "ls", status: "completed" };
    const [call] = toolIn(withUpdates(EMPTY_CONVERSATION, [{ update, at: undefined }]));
    expect(call).toMatchObject({ began: undefined, ended: undefined });
  });

  test("that nobody told of before begin with an update, and nonsense changes nothing", () => {
    expect(toolIn(told({ sessionUpdate: "tool_call_update", toolCallId: "9", title: "x" }))).toHaveLength(1);
    expect(told({ sessionUpdate: "tool_call", title: 4 }).items).toEqual([]);
  });
});

describe("what stands beside the conversation", () => {
  test("a plan replaces the one before", () => {
    const entries = (...contents: string[]) => contents.map((content) => ({ content, status: "pending" }));
    const { plan } = told(
      { sessionUpdate: "plan", entries: entries("a", "b") },
      { sessionUpdate: "plan", entries: entries("c") },
    );
    expect(plan).toEqual([{ content: "c", status: "pending" }]);
  });

  test("commands and usage are what was told last", () => {
    const conversation = told(
      {
        sessionUpdate: "available_commands_update",
        availableCommands: [{ name: "help", description: "helps", input: { hint: "with what" } }],
      },
      { sessionUpdate: "usage_update", used: 10, size: 100, cost: { amount: 0.5, currency: "USD" } },
    );
    expect(conversation.commands).toEqual([{ name: "help", about: "helps", hint: "with what" }]);
    expect(conversation.usage).toEqual({ used: 10, size: 100, cost: { amount: 0.5, currency: "USD" } });
  });

  test("modes and settings change where they were told", () => {
    const settings = settingsIn({
      modes: {
        currentModeId: "ask",
        availableModes: [
          { id: "ask", name: "Ask" },
          { id: "plan", name: "Plan" },
        ],
      },
      configOptions: [
        {
          id: "model",
          name: "Model",
          type: "select",
          currentValue: "m1",
          options: [{ value: "m1", name: "One" }],
        },
      ],
    });
    expect(settings.map(({ id, current, isMode }) => [id, current, isMode])).toEqual([
      ["mode", "ask", true],
      ["model", "m1", false],
    ]);
    const changed = withUpdates({ ...EMPTY_CONVERSATION, settings }, [
      { update: { sessionUpdate: "current_mode_update", currentModeId: "plan" }, at: 1 },
    ]);
    expect(changed.settings.map(({ current }) => current)).toEqual(["plan", "m1"]);
  });

  test("what is not known is passed over, and a note of the page stands at the end", () => {
    const conversation = told({ sessionUpdate: "from_the_future", what: 1 });
    expect(conversation.items).toEqual([]);
    expect(withNote(conversation, "bad", "oh").items).toEqual([{ kind: "note", tone: "bad", text: "oh" }]);
  });
});

const said = (text: string) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });

test("what was said is fetched page by page, up to a place", async () => {
  const asked: object[] = [];
  const pages = [
    { updates: [said("one "), said("two ")], next: 7 },
    { updates: [said("three")], next: null },
  ];
  const items = await fetchHistory(
    async (params) => {
      asked.push(params);
      return pages.shift();
    },
    "s",
    9,
  );
  expect(items).toMatchObject([{ kind: "message", text: "one two three" }]);
  expect(asked).toEqual([
    { sessionId: "s", after: 0, until: 9 },
    { sessionId: "s", after: 7, until: 9 },
  ]);
});

test("a session without an end is not fetched without an end", async () => {
  const items = await fetchHistory(async () => ({ updates: [said("x")], next: 1 }), "s", undefined);
  expect(items.at(-1)).toMatchObject({ kind: "note", tone: "warn" });
});
