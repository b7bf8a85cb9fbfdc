import { once } from "node:events";
import { request } from "node:http";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runCommand, writeFile } from "../src/intent.ts";
import {
  attempt,
  call,
  cut,
  hold,
  overlong,
  refuse,
  reply,
  say,
  scene,
  scenes,
  think,
} from "../src/script.ts";
import { ScriptedModel } from "../src/scripted-model.ts";

let model: ScriptedModel;

const bash = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
const wordings = [{ run_command: [{ tool: "bash", arguments: { command: "$" + "{command}" } }] }];

/** How each dialect is asked, and where its answers stand. */
const dialects = [
  {
    name: "Anthropic Messages",
    path: () => "/v1/messages?beta=true",
    body: (text: string, stream: boolean) => ({
      model: "m",
      stream,
      messages: [{ role: "user", content: text }],
      tools: [{ name: "bash", input_schema: bash }],
    }),
    ending: "message_stop",
  },
  {
    name: "OpenAI Chat Completions",
    path: () => "/v1/chat/completions",
    body: (text: string, stream: boolean) => ({
      model: "m",
      stream,
      messages: [{ role: "user", content: text }],
      tools: [{ type: "function", function: { name: "bash", parameters: bash } }],
    }),
    ending: "[DONE]",
  },
  {
    name: "OpenAI Responses",
    path: () => "/v1/responses",
    body: (text: string, stream: boolean) => ({
      model: "m",
      stream,
      input: text,
      tools: [{ type: "function", name: "bash", parameters: bash }],
    }),
    ending: "response.completed",
  },
  {
    name: "Gemini",
    path: (stream: boolean) =>
      `/v1beta/models/m:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: (text: string) => ({
      contents: [{ role: "user", parts: [{ text }] }],
      tools: [{ functionDeclarations: [{ name: "bash", parameters: bash }] }],
    }),
    ending: '"finishReason":"STOP"',
  },
];

const ask = (dialect: (typeof dialects)[number], text: string, stream = true) =>
  fetch(model.endpoint.url + dialect.path(stream), {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer my-key" },
    body: JSON.stringify(dialect.body(text, stream)),
  });

beforeEach(async () => {
  const script = scenes(
    scene("GREET", reply(think("Hm."), say("Good ", "morning."))),
    scene("RUN", reply(attempt(runCommand("ls -l")))),
    scene("WRITE", reply(attempt(writeFile("/a", "x")))),
    scene("EXACT", reply(call("bash", { command: "pwd" }))),
    scene("LONG", overlong(say("and so on"))),
    scene("LATER", refuse(429, "Slow down.", 7)),
    scene("KEY", refuse(401)),
    scene("BROKEN", refuse(500)),
    scene("BREAK", cut(say("I was about to"))),
    scene("HALF", cut(call("bash", { command: "rm -rf everything" }))),
  );
  model = await ScriptedModel.listen({ script, wordings });
});
afterEach(() => model.close());

describe.each(dialects)("a scripted model over $name", (dialect) => {
  test("streams what it says, piece by piece, to the end", async () => {
    const response = await ask(dialect, "GREET me");
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const stream = await response.text();
    expect(stream).toMatch(/"Good "[\s\S]*"morning\."/);
    expect(stream).toContain("Hm.");
    expect(stream).toContain(dialect.ending);
  });

  test("says it whole", async () => {
    expect(JSON.stringify(await (await ask(dialect, "GREET me", false)).json())).toContain("Good morning.");
  });

  test("calls the tool that does what is meant, streamed or whole", async () => {
    expect(unquoted(await (await ask(dialect, "RUN it")).text())).toMatch(/"name":"bash"/);
    const whole = unquoted(await (await ask(dialect, "RUN it", false)).text());
    expect(whole).toMatch(/"name":"bash"/);
    expect(whole).toMatch(/"command":"ls -l"/);
  });

  test("calls a tool by its exact name", async () => {
    expect(unquoted(await (await ask(dialect, "EXACT", false)).text())).toContain('"command":"pwd"');
  });

  test("says so when no tool on offer will do", async () => {
    expect(await (await ask(dialect, "WRITE it")).text()).toContain("There is no tool for write_file.");
    expect(model.requests.map(({ unmet }) => unmet)).toEqual([["write_file"]]);
  });

  test("stops when it becomes too long", async () => {
    expect(await (await ask(dialect, "LONG")).text()).toMatch(
      /max_tokens|"length"|max_output_tokens|MAX_TOKENS/,
    );
  });

  test.each([
    ["KEY", 401, null],
    ["LATER", 429, "7"],
    ["BROKEN", 500, null],
  ])("refuses: %s", async (prompt, status, after) => {
    const response = await ask(dialect, prompt);
    expect([response.status, response.headers.get("retry-after")]).toEqual([status, after]);
    expect(await response.json()).toHaveProperty("error");
  });

  test("breaks off in the middle of a text", async () => {
    const heard = await untilBroken(dialect, "BREAK");
    expect(heard).toContain("I was about to");
    expect(heard).not.toContain(dialect.ending);
  });

  test("breaks off in the middle of a call", async () => {
    const heard = unquoted(await untilBroken(dialect, "HALF"));
    expect(heard).toContain("bash");
    expect(heard).not.toContain("everything");
  });

  test("remembers who asked what", async () => {
    await (await ask(dialect, "GREET me")).text();
    expect(model.requests).toMatchObject([
      { key: "my-key", conversation: { model: "m", items: [{ role: "user", text: "GREET me" }] } },
    ]);
  });
});

describe("a scripted model", () => {
  const [anthropic] = dialects;

  test("holds a response until its promise resolves", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    model.play(scenes(scene("WAIT", reply(say("before"), hold(promise), say("after")))));
    const { body } = await ask(anthropic!, "WAIT");
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
    let heard = "";
    while (!heard.includes("before")) heard += (await reader.read()).value;
    expect(heard).not.toContain("after");
    resolve();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) heard += piece.value;
    expect(heard).toContain("after");
  });

  test("lets go of an asker that has gone", async () => {
    model.play(scenes(scene("WAIT", reply(say("before"), hold(new Promise(() => {}))))));
    const gone = new AbortController();
    const waiting = fetch(`${model.endpoint.url}/v1/messages`, {
      method: "POST",
      body: JSON.stringify(anthropic!.body("WAIT", true)),
      signal: gone.signal,
    }).then((response) => response.text());
    gone.abort();
    await expect(waiting).rejects.toThrow();
  });

  test.each([
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
  ])("reads requests packed with %s", async (encoding, pack) => {
    const response = await fetch(`${model.endpoint.url}/v1/messages`, {
      method: "POST",
      headers: { "content-encoding": encoding },
      body: pack(JSON.stringify(anthropic!.body("GREET", false))),
    });
    expect(await response.text()).toContain("Good morning.");
  });

  test("answers what agents ask beside: models, counts of tokens, whether anybody is there", async () => {
    const get = async (path: string) => (await fetch(model.endpoint.url + path)).json();
    expect(await get("/v1/models")).toMatchObject({ data: [{ id: "scripted" }] });
    expect(await get("/v1/messages/count_tokens")).toHaveProperty("input_tokens");
    expect(await get("/v1beta/models/m:countTokens")).toHaveProperty("totalTokens");
    expect(await get("/")).toEqual({});
  });

  test("refuses what it cannot read, and what it does not know", async () => {
    const bad = await fetch(`${model.endpoint.url}/v1/messages`, { method: "POST", body: "{" });
    expect([bad.status, await bad.json()]).toEqual([400, expect.objectContaining({ type: "error" })]);
    expect((await fetch(`${model.endpoint.url}/v1/nothing`)).status).toBe(404);
  });

  test("tells an asker when its script fails", async () => {
    model.play(() => {
      throw new Error("The script has a fault.");
    });
    const response = await ask(anthropic!, "x");
    expect([response.status, await response.text()]).toEqual([
      500,
      expect.stringContaining("The script has a fault."),
    ]);
  });

  test("keeps no more than 500 requests", async () => {
    for (let count = 0; count < 505; count++) await (await ask(anthropic!, `number ${count}`, false)).text();
    expect(model.requests).toHaveLength(500);
    expect(model.requests.at(-1)?.conversation.items).toEqual([{ role: "user", text: "number 504" }]);
    model.forget();
    expect(model.requests).toEqual([]);
  });
});

function unquoted(text: string): string {
  return text.replaceAll("\\", "");
}

/** What arrives before the connection is dropped. */
async function untilBroken(dialect: (typeof dialects)[number], text: string): Promise<string> {
  const url = model.endpoint.url + dialect.path(true);
  const asking = request(url, { method: "POST" }).end(JSON.stringify(dialect.body(text, true)));
  const [response] = await once(asking, "response");
  let heard = "";
  response.setEncoding("utf8").on("data", (piece: string) => {
    heard += piece;
  });
  const [error] = await once(response, "error");
  expect(error).toMatchObject({ code: "ECONNRESET" });
  return heard;
}
