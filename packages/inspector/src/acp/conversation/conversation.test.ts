import { describe, expect, test } from "vitest";
import {
  type Conversation,
  EMPTY_CONVERSATION,
  fetchHistory,
  type ReceivedUpdate,
  settingsIn,
  withNote,
  withUpdates,
} from "./conversation.ts";

type Update = ReceivedUpdate["update"];

const text = (value: string) => ({ type: "text", text: value });
const chunk = (sessionUpdate: string, value: string, more: object = {}): Update => ({
  sessionUpdate,
  content: text(value),
  ...more,
});
const reduced = (...updates: Update[]): Conversation =>
  withUpdates(
    EMPTY_CONVERSATION,
    updates.map((update, at) => ({ update, at })),
  );
const toolIn = ({ items }: Conversation) =>
  items.flatMap((item) => (item.kind === "tool" ? [item.call] : []));

describe("messages", () => {
  test("joins chunks of one author and starts a new message for another", () => {
    const { items } = reduced(
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

  test("separates messages by message id, and two prompts in a row", () => {
    const { items } = reduced(
      chunk("agent_message_chunk", "a", { messageId: "1" }),
      chunk("agent_message_chunk", "b", { messageId: "2" }),
      chunk("user_message_chunk", "one", { _meta: { reins: { prompt: "p1" } } }),
      chunk("user_message_chunk", "two", { _meta: { reins: { prompt: "p2" } } }),
    );
    expect(items.map((item) => item.kind === "message" && item.text)).toEqual(["a", "b", "one", "two"]);
  });

  test("shows messages of the harness separately, with their annotation", () => {
    const { items } = reduced(
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

  test("names images and links instead of loading them", () => {
    const { items } = reduced(
      { sessionUpdate: "agent_message_chunk", content: { type: "image", mimeType: "image/png", data: "…" } },
      {
        sessionUpdate: "agent_message_chunk",
        content: { type: "resource_link", uri: "file:///a", name: "a" },
      },
    );
    expect(items).toMatchObject([{ text: "[image (image/png)][a]" }]);
  });

  test("keeps the object of an unchanged item, so that it does not render again", () => {
    const before = reduced(chunk("user_message_chunk", "hi"), chunk("agent_message_chunk", "a"));
    const after = withUpdates(before, [{ update: chunk("agent_message_chunk", "b"), at: 1 }]);
    expect(after.items[0]).toBe(before.items[0]);
    expect(after.items[1]).not.toBe(before.items[1]);
    expect(before.items[1]).toMatchObject({ text: "a" });
  });
});

describe("tool calls", () => {
  test("merges updates by id and keeps members that an update lacks", () => {
    const conversation = reduced(
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

  test("have the verdict, whether it arrives first or later", () => {
    const verdict = { verdict: "allowed", rule: "r", reason: "fine", enforcement: "performed", entry: "e" };
    const [call] = toolIn(
      reduced(
        { sessionUpdate: "tool_call", toolCallId: "1", title: "ls" },
        { sessionUpdate: "tool_call_update", toolCallId: "1", _meta: { reins: verdict } },
        { sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed" },
      ),
    );
    expect(call).toMatchObject({ verdict, status: "completed" });
  });

  test("have no times if they are replayed", () => {
    const update = { sessionUpdate: "tool_call", toolCallId: "1", title: "ls", status: "completed" };
    const [call] = toolIn(withUpdates(EMPTY_CONVERSATION, [{ update, at: undefined }]));
    expect(call).toMatchObject({ began: undefined, ended: undefined });
  });

  test("start with an update for an unknown id, and ignore malformed updates", () => {
    expect(toolIn(reduced({ sessionUpdate: "tool_call_update", toolCallId: "9", title: "x" }))).toHaveLength(
      1,
    );
    expect(reduced({ sessionUpdate: "tool_call", title: 4 }).items).toEqual([]);
  });
});

describe("session state", () => {
  test("replaces the plan", () => {
    const entries = (...contents: string[]) => contents.map((content) => ({ content, status: "pending" }));
    const { plan } = reduced(
      { sessionUpdate: "plan", entries: entries("a", "b") },
      { sessionUpdate: "plan", entries: entries("c") },
    );
    expect(plan).toEqual([{ content: "c", status: "pending" }]);
  });

  test("keeps the latest commands and usage", () => {
    const conversation = reduced(
      {
        sessionUpdate: "available_commands_update",
        availableCommands: [{ name: "help", description: "helps", input: { hint: "with what" } }],
      },
      { sessionUpdate: "usage_update", used: 10, size: 100, cost: { amount: 0.5, currency: "USD" } },
    );
    expect(conversation.commands).toEqual([{ name: "help", about: "helps", hint: "with what" }]);
    expect(conversation.usage).toEqual({ used: 10, size: 100, cost: { amount: 0.5, currency: "USD" } });
  });

  test("changes known modes and settings", () => {
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

  test("ignores unknown updates and appends notes of the page", () => {
    const conversation = reduced({ sessionUpdate: "from_the_future", what: 1 });
    expect(conversation.items).toEqual([]);
    expect(withNote(conversation, "bad", "oh").items).toEqual([{ kind: "note", tone: "bad", text: "oh" }]);
  });
});

const said = (text: string) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });

test("fetches the history page by page up to a position", async () => {
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

test("stops fetching an endless history", async () => {
  const items = await fetchHistory(async () => ({ updates: [said("x")], next: 1 }), "s", undefined);
  expect(items.at(-1)).toMatchObject({ kind: "note", tone: "warn" });
});

describe("notes of the agent", () => {
  test.each([
    [{ severity: "error", title: "No key", description: "Set one." }, "bad", "No key: Set one."],
    [{ severity: "warning", title: "Slow" }, "warn", "Slow"],
    [{ severity: "info", description: "Just so." }, "note", "Just so."],
    [{ severity: 7 }, "note", ""],
  ])("of %j have a tone and a text", (notice, tone, text) => {
    expect(reduced({ sessionUpdate: "notice", ...notice }).items).toEqual([{ kind: "note", tone, text }]);
  });

  test("say that the conversation was summarized, once that is done", () => {
    const compaction = (status: string) => reduced({ sessionUpdate: "compaction_update", status }).items;
    expect(compaction("completed")).toMatchObject([{ kind: "note", tone: "note" }]);
    expect(compaction("in_progress")).toEqual([]);
  });
});

describe("malformed updates", () => {
  const before = reduced(
    { sessionUpdate: "usage_update", used: 10, size: 100 },
    { sessionUpdate: "available_commands_update", availableCommands: [{ name: "help" }] },
  );
  const after = (update: Update) => withUpdates(before, [{ update, at: 1 }]);

  test("do not replace the usage", () => {
    expect(before.usage).toEqual({ used: 10, size: 100, cost: undefined });
    expect(after({ sessionUpdate: "usage_update", used: "many" }).usage).toEqual(before.usage);
    expect(after({ sessionUpdate: "usage_update", used: 1, size: 2, cost: { amount: 1 } }).usage).toEqual({
      used: 1,
      size: 2,
      cost: undefined,
    });
  });

  test("leave out commands without a name", () => {
    const availableCommands = [{ description: "?" }, { name: "go", description: null, input: null }, 7];
    expect(after({ sessionUpdate: "available_commands_update", availableCommands }).commands).toEqual([
      { name: "go", about: "", hint: undefined },
    ]);
  });

  test("show steps of a plan without a status as pending", () => {
    const entries = [{ content: "count" }, { content: 7, status: "completed" }];
    expect(after({ sessionUpdate: "plan", entries }).plan).toEqual([
      { content: "count", status: "pending" },
      { content: "", status: "completed" },
    ]);
  });

  test.each(["constructor", "__proto__", "toString", "", 7, null])(
    "of the kind %j change nothing",
    (kind) => {
      expect(after({ sessionUpdate: kind })).toEqual(before);
    },
  );

  test("do not change the mode without an id", () => {
    const settings = settingsIn({
      modes: { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }] },
    });
    const changed = withUpdates({ ...before, settings }, [
      { update: { sessionUpdate: "current_mode_update", currentModeId: 7 }, at: 1 },
    ]);
    expect(changed.settings).toEqual(settings);
  });
});

test("replaces the options of a session and keeps its mode", () => {
  const option = (currentValue: string) => ({
    id: "model",
    name: "Model",
    type: "select",
    currentValue,
    options: [{ value: currentValue, name: currentValue }],
  });
  const settings = settingsIn({
    modes: { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }] },
    configOptions: [option("m1")],
  });
  const changed = withUpdates({ ...EMPTY_CONVERSATION, settings }, [
    { update: { sessionUpdate: "config_option_update", configOptions: [option("m2")] }, at: 1 },
  ]);
  expect(changed.settings.map(({ id, current }) => [id, current])).toEqual([
    ["mode", "ask"],
    ["model", "m2"],
  ]);
});

test("reports a page of the history without updates", async () => {
  await expect(fetchHistory(async () => ({ next: null }), "s", undefined)).rejects.toThrow("has no updates");
});

test("a search for tools is shown with what it found", () => {
  const found = (more: object) =>
    reduced({ sessionUpdate: "tool_search_result", ...more }).items.map(
      (item) => item.kind === "note" && item.text,
    );
  expect(reduced({ sessionUpdate: "tool_search_query", query: "merge" }).items).toEqual([
    { kind: "note", tone: "note", text: "Searched for tools: merge" },
  ]);
  expect(found({ promoted: ["a", "b"] })).toEqual(["Tools found: a, b"]);
  expect(found({ promoted: 7, diagnostic: "the host is down" })).toEqual([
    "No tools found (the host is down)",
  ]);
});
