import { LoopbackServer } from "@reins/kit";
import { expect, onTestFinished, test } from "vitest";
import { anthropicModel } from "../src/models/anthropic-model.ts";
import type { Model, ModelEvent, ModelRequest } from "../src/models/model.ts";
import { responsesModel } from "../src/models/openai-responses.ts";
import { Draft } from "../src/turn/draft.ts";

const toolOf = (name: string, isDeferred?: boolean) => ({
  ...{ name, description: `Does ${name}`, parameters: { type: "object" } },
  ...(isDeferred && { isDeferred }),
});

const USE = { type: "server_tool_use", id: "srvtoolu_1", name: "tool_search_tool_bm25" };
const RESULT = {
  type: "tool_search_tool_result",
  tool_use_id: "srvtoolu_1",
  content: {
    type: "tool_search_tool_search_result",
    tool_references: [{ type: "tool_reference", tool_name: "deploy_service" }],
  },
};
const STREAM = [
  { type: "message_start", message: { id: "m", role: "assistant", content: [], usage: { input_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { ...USE, input: {} } },
  { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"query":' } },
  { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '"ship it"}' } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: RESULT },
  { type: "content_block_stop", index: 1 },
  {
    type: "content_block_start",
    index: 2,
    content_block: { type: "tool_use", id: "toolu_1", name: "deploy_service", input: {} },
  },
  { type: "content_block_stop", index: 2 },
  { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 2 } },
  { type: "message_stop" },
];

type OpenModel = (baseUrl: string) => Model;
const claude: OpenModel = (baseUrl) => anthropicModel("claude-sonnet-5-5", { apiKey: "k", baseUrl });
const gpt: OpenModel = (baseUrl) => responsesModel("gpt-6.1-terra", { apiKey: "k", baseUrl });

/** An API that searches once. */
async function serve(stream: readonly { readonly type: string }[] = STREAM, open: OpenModel = claude) {
  const server = await LoopbackServer.listen();
  onTestFinished(() => server.close());
  const bodies: unknown[] = [];
  server.serve(async (request, response) => {
    bodies.push(JSON.parse(Buffer.concat(await request.toArray()).toString()));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(stream.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
  });
  const model = open(server.url);
  const ask = async (more: Partial<ModelRequest> = {}) => {
    const tools = [toolOf("read_file"), toolOf("deploy_service", true)];
    const request = {
      system: "Be brief.",
      messages: [user("ship it")],
      tools,
      thoughtLevel: "default",
    } as const;
    const seen: ModelEvent[] = [];
    for await (const event of model.stream({ ...request, ...more }, new AbortController().signal))
      seen.push(event);
    return seen;
  };
  return { model, bodies, ask };
}

const user = (text: string) => ({ role: "user", parts: [{ type: "text", text }] }) as const;

test("Anthropic's API gets deferred tools marked, with the tool that searches before them", async () => {
  const { bodies, ask } = await serve();
  await ask({ toolSearch: "bm25" });
  expect(bodies[0]).toMatchObject({
    tools: [
      { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" },
      { name: "read_file", description: "Does read_file", input_schema: { type: "object" } },
      { name: "deploy_service", defer_loading: true },
    ],
  });
  expect(JSON.stringify(bodies[0]).match(/defer_loading/g)).toHaveLength(1);
  await ask({ toolSearch: "regex" });
  expect(bodies[1]).toMatchObject({
    tools: [{ type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" }, {}, {}],
  });
});

test("its searches are reported, and returned to it unchanged", async () => {
  const { model, bodies, ask } = await serve();
  const seen = await ask({ toolSearch: "bm25" });
  expect(seen).toContainEqual({
    type: "search",
    query: "ship it",
    found: ["deploy_service"],
    seal: { search: { use: { ...USE, input: { query: "ship it" } }, result: RESULT } },
  });
  expect(seen).toContainEqual({ type: "call", id: "toolu_1", name: "deploy_service", arguments: "{}" });
  const draft = new Draft("a1", model.info.id, () => "t1");
  for (const event of seen) if (event.type !== "end") draft.add(event);
  const { parts } = draft.finish("tool_use");
  const result = { call: "toolu_1", name: "deploy_service", text: "done", isError: false };
  await ask({
    messages: [
      user("ship it"),
      { role: "assistant", model: model.info.id, parts },
      { role: "tool", results: [result] },
    ],
  });
  expect(bodies[1]).toMatchObject({
    messages: [
      { role: "user" },
      {
        role: "assistant",
        content: [{ ...USE, input: { query: "ship it" } }, RESULT, { type: "tool_use", id: "toolu_1" }],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1" }] },
    ],
  });
});

test("a search that failed there is left out", async () => {
  const content = { type: "tool_search_tool_result_error", error_code: "unavailable" };
  const stream = STREAM.map((event) =>
    "content_block" in event && event.content_block === RESULT
      ? { ...event, content_block: { ...RESULT, content } }
      : event,
  );
  const { ask } = await serve(stream);
  expect((await ask({ toolSearch: "bm25" })).map(({ type }) => type)).not.toContain("search");
});

const CALL = {
  ...{ type: "tool_search_call", id: "tsc_1", call_id: null, execution: "server", status: "completed" },
  arguments: { query: "ship it" },
};
const FOUND = {
  ...{ type: "function", name: "deploy_service", description: "Does deploy_service", strict: false },
  ...{ parameters: { type: "object" }, defer_loading: true },
};
const OUTPUT = { ...CALL, type: "tool_search_output", id: "tso_1", arguments: undefined, tools: [FOUND] };
const FUNCTION = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "deploy_service",
  arguments: "{}",
};
const RESPONSES = [
  ...[CALL, OUTPUT, FUNCTION].map((item) => ({ type: "response.output_item.done", item })),
  { type: "response.completed", response: { usage: { input_tokens: 1, output_tokens: 2 } } },
];

test("OpenAI's Responses API gets deferred tools marked, and its searches are reported and returned", async () => {
  const { model, bodies, ask } = await serve(RESPONSES, gpt);
  const seen = await ask({ toolSearch: "bm25" });
  expect(bodies[0]).toMatchObject({
    tools: [
      { type: "tool_search" },
      { type: "function", name: "read_file" },
      { type: "function", name: "deploy_service", defer_loading: true },
    ],
  });
  expect(JSON.stringify(bodies[0]).match(/defer_loading/g)).toHaveLength(1);
  expect(JSON.stringify(bodies[0])).not.toContain("isDeferred");
  expect(seen).toContainEqual(
    expect.objectContaining({ type: "search", query: "ship it", found: ["deploy_service"] }),
  );
  const draft = new Draft("a1", model.info.id, () => "t1");
  for (const event of seen) if (event.type !== "end") draft.add(event);
  const { parts } = draft.finish("tool_use");
  await ask({ messages: [user("ship it"), { role: "assistant", model: model.info.id, parts }] });
  const { arguments: _, ...output } = OUTPUT;
  expect(bodies[1]).toMatchObject({
    input: [{ type: "message" }, CALL, output, { type: "function_call", call_id: "call_1" }],
  });
  expect(JSON.stringify(bodies[1])).not.toContain('"tool_search"');
});
