import { describe, expect, test } from "vitest";
import type { Message } from "../src/history/entry.ts";
import { anthropicModel } from "../src/models/anthropic-model.ts";
import type { Model, ModelEvent, ModelRequest } from "../src/models/model.ts";
import { DIALECTS, modelAt } from "./fixtures/dialect-names.ts";
import { modelServer } from "./fixtures/model-server.ts";

const user = (text: string): Message => ({ role: "user", parts: [{ type: "text", text }] });
const TOOL = {
  name: "read_file",
  description: "Reads a file",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};

function requestOf(messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest {
  return { system: "Be brief.", messages, tools: [TOOL], thoughtLevel: "default", ...more };
}

async function events(model: Model, request: ModelRequest, signal = new AbortController().signal) {
  const seen: ModelEvent[] = [];
  for await (const event of model.stream(request, signal)) seen.push(event);
  return seen;
}

const textOf = (seen: readonly ModelEvent[], type: "text" | "thinking") =>
  seen.flatMap((event) => (event.type === type ? [event.text] : [])).join("");

describe.each(DIALECTS)("a model spoken to by %s", (dialect) => {
  test("streams text and thoughts, calls tools and reports usage", async () => {
    const server = await modelServer({
      say: [
        { thinking: "hm" },
        { text: "Let me look. " },
        { call: "read_file", given: { path: "a.txt" }, id: "c1" },
      ],
    });
    const seen = await events(modelAt(dialect, server.url), requestOf([user("hello")]));
    expect(textOf(seen, "text")).toBe("Let me look. ");
    expect(textOf(seen, "thinking")).toBe("hm");
    expect(seen).toContainEqual({ type: "call", id: "c1", name: "read_file", arguments: '{"path":"a.txt"}' });
    expect(seen.slice(-2)).toMatchObject([
      { type: "usage", usage: { inputTokens: 10, outputTokens: 7, cachedReadTokens: 5 } },
      { type: "end", stop: "tool_use" },
    ]);
    expect(seen.filter(({ type }) => type === "text").length).toBeGreaterThan(1);
  });

  test("receives the conversation, with every result beside its call", async () => {
    const server = await modelServer({ say: [{ text: "Done." }] });
    const model = modelAt(dialect, server.url);
    const conversation: Message[] = [
      user("read it"),
      {
        role: "assistant",
        model: model.info.id,
        parts: [
          { type: "text", text: "Reading." },
          { type: "call", id: "c1", name: "read_file", arguments: '{"path":"a"}', toolCallId: "t1" },
        ],
      },
      { role: "tool", results: [{ call: "c1", name: "read_file", text: "contents", isError: false }] },
      user("and now?"),
    ];
    await events(model, requestOf(conversation));
    const sent = JSON.stringify(server.asked[0]?.body);
    for (const part of ["Be brief.", "read it", "Reading.", "c1", "contents", "and now?", "Reads a file"])
      expect(sent).toContain(part);
    expect(server.asked[0]?.body).toMatchObject({ model: "scripted", stream: true });
  });

  test("receives images", async () => {
    const server = await modelServer();
    const image: Message = { role: "user", parts: [{ type: "image", data: "aGk=", mimeType: "image/png" }] };
    await events(modelAt(dialect, server.url), requestOf([image]));
    expect(JSON.stringify(server.asked[0]?.body)).toContain("aGk=");
  });

  test("receives images and documents that a tool found, or why not", async () => {
    const server = await modelServer();
    const model = modelAt(dialect, server.url);
    const media = [
      { mimeType: "image/png", data: "aGk=" },
      { mimeType: "application/pdf", data: "JVBERg==" },
    ] as const;
    const call = { type: "call", id: "c1", name: "read_file", arguments: "{}", toolCallId: "t1" } as const;
    await events(
      model,
      requestOf([
        user("look"),
        { role: "assistant", model: model.info.id, parts: [call] },
        {
          role: "tool",
          results: [{ call: "c1", name: "read_file", text: "seen", isError: false, media: [...media] }],
        },
      ]),
    );
    const sent = JSON.stringify(server.asked[0]?.body);
    expect(sent).toContain("aGk=");
    expect(sent).toContain(dialect === "openai-chat" ? "gets no PDF" : "JVBERg==");
  });

  test.each([
    ["max_tokens", "max_tokens"],
    ["refusal", "refusal"],
    [undefined, "end"],
  ] as const)("stops for %s as %s", async (stop, ours) => {
    const server = await modelServer({ say: [{ text: "Well" }], ...(stop && { stop }) });
    const seen = await events(modelAt(dialect, server.url), requestOf([user("x")]));
    expect(seen.at(-1)).toEqual({ type: "end", stop: ours });
  });

  test.each([
    [400, "bad_request", false],
    [401, "unauthorized", false],
    [404, "not_found", false],
    [429, "rate_limited", true],
    [500, "unavailable", true],
    [529, "overloaded", true],
  ] as const)("that answers %i fails with %s", async (status, code, isRetryable) => {
    const server = await modelServer({
      status,
      message: "the script says no",
      headers: { "retry-after": "7" },
    });
    await expect(events(modelAt(dialect, server.url), requestOf([user("x")]))).rejects.toMatchObject({
      name: "ModelError",
      code,
      isRetryable,
      status,
      retryAfterMs: 7_000,
      message: expect.stringContaining("the script says no"),
    });
    expect(server.asked).toHaveLength(1);
  });

  test("that rejects the length of the conversation fails with context_exceeded", async () => {
    const server = await modelServer({
      status: 400,
      message: "prompt is too long: 300000 tokens; context_length_exceeded",
    });
    await expect(events(modelAt(dialect, server.url), requestOf([user("x")]))).rejects.toMatchObject({
      code: "context_exceeded",
    });
  });

  test.each([
    ["in the middle of a text", [{ text: "Half a" }]],
    ["in the middle of a call", [{ text: "I will. " }, { call: "read_file", given: { path: "a.txt" } }]],
  ])("that breaks off %s makes no call and fails with cut_off", async (_, say) => {
    const server = await modelServer({ say, stop: "cut" });
    const seen: ModelEvent[] = [];
    const reading = (async () => {
      for await (const event of modelAt(dialect, server.url).stream(
        requestOf([user("x")]),
        new AbortController().signal,
      ))
        seen.push(event);
    })();
    await expect(reading).rejects.toMatchObject({ name: "ModelError", isRetryable: true });
    expect(seen.filter(({ type }) => type === "call" || type === "end")).toEqual([]);
  });

  test("that cannot be reached fails with a reason", async () => {
    await expect(
      events(modelAt(dialect, "http://127.0.0.1:9"), requestOf([user("x")])),
    ).rejects.toMatchObject({
      code: "unavailable",
      isRetryable: true,
      message: expect.stringContaining("could not be reached"),
    });
  });

  test("is closed when the request is aborted", async () => {
    const server = await modelServer({ silent: true });
    const abort = new AbortController();
    const reading = events(modelAt(dialect, server.url), requestOf([user("x")]), abort.signal);
    await expect.poll(() => server.asked.length).toBe(1);
    abort.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });

  test("reports progress while it writes a long call", async () => {
    const server = await modelServer({ say: [{ call: "read_file", given: { path: "a.txt" } }] });
    const seen = await events(modelAt(dialect, server.url), requestOf([user("x")]));
    const [call] = seen.flatMap((event, index) => (event.type === "call" ? [index] : []));
    expect(seen.slice(0, call)).toContainEqual({ type: "progress" });
  });

  test("is stopped at endless arguments", async () => {
    const server = await modelServer({
      say: [{ call: "read_file", raw: `{"path":"${"x".repeat(2 << 20)}"}` }],
    });
    const reading = events(modelAt(dialect, server.url), requestOf([user("x")]));
    if (dialect === "openai") expect((await reading).at(-1)).toMatchObject({ type: "end" });
    else await expect(reading).rejects.toMatchObject({ code: "too_long", isRetryable: false });
  });
});

describe("Anthropic", () => {
  const thinking = (model: string, level: ModelRequest["thoughtLevel"]) =>
    modelServer().then(async (server) => {
      await events(modelAt("anthropic", server.url, model), requestOf([user("x")], { thoughtLevel: level }));
      const { thinking: given, output_config } = server.asked[0]?.body ?? {};
      return { thinking: given, output_config };
    });

  test("gets the thought level in the form of each model family", async () => {
    expect(await thinking("claude-sonnet-5-5", "high")).toMatchObject({
      thinking: { type: "adaptive" },
      output_config: { effort: "high" },
    });
    expect(await thinking("claude-haiku-4-5", "low")).toMatchObject({
      thinking: { type: "enabled", budget_tokens: 2_048 },
    });
    expect(await thinking("claude-sonnet-5-5", "off")).toMatchObject({ thinking: { type: "disabled" } });
    expect(await thinking("claude-sonnet-5-5", "default")).toEqual({
      thinking: undefined,
      output_config: undefined,
    });
  });

  test("gets back its own sealed thoughts, and no other model's", async () => {
    const server = await modelServer({ say: [{ thinking: "hm" }, { text: "Hi." }] });
    const model = modelAt("anthropic", server.url);
    const seen = await events(model, requestOf([user("x")]));
    expect(seen).toContainEqual({ type: "thinking_end", seal: { signature: "sealed" } });
    const thought = (by: string): Message => ({
      role: "assistant",
      model: by,
      parts: [
        { type: "thinking", text: `by ${by}`, seal: { model: by, data: { signature: `seal of ${by}` } } },
        { type: "text", text: "Hi." },
      ],
    });
    await events(
      model,
      requestOf([user("x"), thought(model.info.id), user("y"), thought("openai:other"), user("z")]),
    );
    const sent = JSON.stringify(server.asked[1]?.body);
    expect(sent).toContain(`"signature":"seal of ${model.info.id}"`);
    expect(sent).not.toContain("openai:other");
  });

  test("gets cache marks on the stable part of the request", async () => {
    const server = await modelServer();
    const turns = [
      user("one"),
      { role: "assistant" as const, model: "m", parts: [{ type: "text" as const, text: "1" }] },
    ];
    await events(modelAt("anthropic", server.url), requestOf([...turns, ...turns, user("last")]));
    const { system, messages } = server.asked[0]?.body ?? {};
    expect(system[0]).toMatchObject({ cache_control: { type: "ephemeral" } });
    const marked = messages.map(
      ({ content }: { content: { cache_control?: unknown }[] }) => content.at(-1)?.cache_control,
    );
    expect(marked.map(Boolean)).toEqual([false, false, true, false, true]);
  });

  test("gets the configured key or token", async () => {
    const server = await modelServer();
    const shown = async (access: { apiKey: string } | { authToken: string }) => {
      await events(anthropicModel("m", { ...access, baseUrl: server.url }), requestOf([user("x")]));
      const { authorization, "x-api-key": key } = server.asked.at(-1)?.headers ?? {};
      return key ?? authorization?.replace("Bearer ", "");
    };
    expect(await shown({ apiKey: "a key" })).toBe("a key");
    expect(await shown({ authToken: "a token" })).toBe("a token");
  });
});

describe("OpenAI", () => {
  test("gets the thought level and its sealed reasoning", async () => {
    const server = await modelServer({ say: [{ thinking: "hm" }, { text: "Hi." }] });
    const model = modelAt("openai", server.url);
    const seen = await events(model, requestOf([user("x")], { thoughtLevel: "high" }));
    const seal = { id: "rs_1", encrypted_content: "sealed" };
    expect(seen).toContainEqual({ type: "thinking_end", seal });
    expect(server.asked[0]?.body).toMatchObject({
      store: false,
      reasoning: { effort: "high", summary: "auto" },
      include: ["reasoning.encrypted_content"],
    });
    const thought: Message = {
      role: "assistant",
      model: model.info.id,
      parts: [
        { type: "thinking", text: "hm", seal: { model: model.info.id, data: seal } },
        { type: "text", text: "Hi." },
      ],
    };
    await events(model, requestOf([user("x"), thought, user("y")]));
    expect(server.asked[1]?.body.input).toContainEqual(
      expect.objectContaining({ type: "reasoning", encrypted_content: "sealed" }),
    );
    expect(server.asked[1]?.body.reasoning).toBeUndefined();
  });

  test("gets the thought level by Chat as well", async () => {
    const server = await modelServer();
    await events(modelAt("openai-chat", server.url), requestOf([user("x")], { thoughtLevel: "off" }));
    expect(server.asked[0]?.body).toMatchObject({
      reasoning_effort: "none",
      stream_options: { include_usage: true },
    });
  });
});

describe("a compatible server, by Chat,", () => {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }],
  });
  const piece = (id: string | undefined, called: object) => ({ ...(id && { id }), function: called });

  test("may number its calls in any way, or not at all", async () => {
    for (const index of [{ index: 0 }, {}]) {
      const server = await modelServer({
        raw: [
          chunk({ tool_calls: [{ ...index, ...piece("a", { name: "read_file", arguments: "{" }) }] }),
          chunk({ tool_calls: [{ ...index, ...piece(undefined, { arguments: "}" }) }] }),
          chunk({ tool_calls: [{ ...index, ...piece("b", { name: "list_files", arguments: "{}" }) }] }),
          chunk({}, "tool_calls"),
        ],
      });
      const seen = await events(modelAt("openai-chat", server.url), requestOf([user("x")]));
      expect(seen.filter(({ type }) => type === "call")).toEqual([
        { type: "call", id: "a", name: "read_file", arguments: "{}" },
        { type: "call", id: "b", name: "list_files", arguments: "{}" },
      ]);
    }
  });

  test("may send empty chunks, and end without a finish event", async () => {
    const bare = { choices: [{ index: 0, finish_reason: "stop" }] };
    const server = await modelServer({ raw: [{ id: "c1" }, chunk({ content: "Hi." }), bare] });
    const seen = await events(modelAt("openai-chat", server.url), requestOf([user("x")]));
    expect(textOf(seen, "text")).toBe("Hi.");
    expect(seen.at(-1)).toEqual({ type: "end", stop: "end" });
  });

  test("may report unusable usage", async () => {
    for (const usage of [{}, { prompt_tokens: "many", completion_tokens: null }, { prompt_tokens: -5 }]) {
      const server = await modelServer({ raw: [chunk({ content: "Hi." }, "stop"), { choices: [], usage }] });
      const seen = await events(modelAt("openai-chat", server.url), requestOf([user("x")]));
      expect(seen.at(-2)).toEqual({ type: "usage", usage: { inputTokens: 0, outputTokens: 0 } });
    }
  });
});

describe("a model by Responses that fails in the middle", () => {
  test.each([
    ["context_length_exceeded", "context_exceeded"],
    ["rate_limit_exceeded", "rate_limited"],
    ["invalid_prompt", "bad_request"],
    ["server_error", "unavailable"],
  ])("reports the reason: %s is %s", async (said, code) => {
    const server = await modelServer({
      raw: [{ type: "response.failed", response: { error: { code: said, message: "it did not work" } } }],
    });
    await expect(events(modelAt("openai", server.url), requestOf([user("x")]))).rejects.toMatchObject({
      code,
      message: expect.stringContaining("it did not work"),
    });
  });
});
