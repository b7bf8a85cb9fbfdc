import { once } from "node:events";
import type http from "node:http";
import type { RequestListener } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { LoopbackServer, sseText } from "@reins/kit";
import { reply, ScriptedModel, say } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type Admission,
  type CallOutcome,
  type CountedUsage,
  type ModelCall,
  ModelGateway,
  PROVIDERS,
  PriceList,
  type Provider,
  type Spending,
} from "../src/index.ts";

const KEY = "sk-the-real-key-of-the-provider";

interface Settled {
  readonly outcome: CallOutcome;
  readonly usage: CountedUsage;
  readonly spent: Spending;
}

/** A gateway in front of one address for all providers, with a governor that notes what it is asked. */
async function openGateway(address: string, { room = 1e9, refused = "" } = {}) {
  const calls: ModelCall[] = [];
  const settled: Settled[] = [];
  const errors: unknown[] = [];
  const gateway = new ModelGateway({
    keys: { get: async () => KEY },
    prices: new PriceList({ m: { input: 1_000_000, output: 2_000_000 } }),
    addresses: Object.fromEntries(PROVIDERS.map((provider) => [provider, address])),
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => gateway.close());
  const admission: Admission = refused
    ? { refused }
    : {
        room: () => ({ tokens: room, cost: 1e9 }),
        settle: async (outcome, usage, spent) => void settled.push({ outcome, usage, spent }),
      };
  const admit = async (call: ModelCall) => {
    calls.push(call);
    return admission;
  };
  const lease = await gateway.lease(PROVIDERS, { admit });
  return { gateway, lease, calls, settled, errors };
}

async function serve(answer: RequestListener): Promise<string> {
  const server = await LoopbackServer.listen();
  onTestFinished(() => server.close());
  server.serve((request, response) => {
    request.resume();
    request.once("end", () => answer(request, response));
  });
  return server.url;
}

/** One request of each dialect, as its clients send it. */
const DIALECTS: readonly {
  readonly name: string;
  readonly provider: Provider;
  readonly path: string;
  readonly header: string;
  readonly body: object;
}[] = [
  {
    ...{
      name: "Anthropic Messages",
      provider: "anthropic",
      path: "/v1/messages?beta=true",
      header: "x-api-key",
    },
    body: { model: "m", stream: true, max_tokens: 7, messages: [{ role: "user", content: "hi" }] },
  },
  {
    ...{ name: "OpenAI Responses", provider: "openai", path: "/v1/responses", header: "authorization" },
    body: { model: "m", stream: true, input: [{ role: "user", content: "hi" }], max_output_tokens: 7 },
  },
  {
    ...{ name: "OpenAI Chat", provider: "openai", path: "/v1/chat/completions", header: "authorization" },
    body: { model: "m", stream: true, messages: [{ role: "user", content: "hi" }], max_completion_tokens: 7 },
  },
  {
    ...{ name: "Gemini", provider: "gemini", header: "x-goog-api-key" },
    path: "/v1beta/models/m:streamGenerateContent?alt=sse",
    body: {
      contents: [{ role: "user", parts: [{ text: "hi" }] }],
      generationConfig: { maxOutputTokens: 7 },
    },
  },
];

function post(url: string, header: string, token: string, body: unknown, signal?: AbortSignal) {
  const value = header === "authorization" ? `Bearer ${token}` : token;
  const headers = { [header]: value, "content-type": "application/json", "x-own": "kept" };
  return fetch(url, {
    method: "POST",
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
    redirect: "manual",
    ...(signal && { signal }),
  });
}

const [MESSAGES] = DIALECTS as [(typeof DIALECTS)[number]];
const ask = (
  { lease }: Pick<Awaited<ReturnType<typeof openGateway>>, "lease">,
  body: unknown = MESSAGES.body,
  { token = lease.token, signal = undefined as AbortSignal | undefined } = {},
) => post(`${lease.url}/anthropic/v1/messages`, "x-api-key", token, body, signal);

describe.each(DIALECTS)("$name", ({ provider, path, header, body }) => {
  test.each([true, false])(
    "passes byte by byte and counts what the provider says, streamed: %s",
    async (streamed) => {
      await using model = await ScriptedModel.listen({
        script: () => reply(say("a long ", "enough ", "answer ✓")),
      });
      const sent = streamed ? body : { ...body, stream: false };
      const below = streamed ? path : path.replace(":streamGenerateContent?alt=sse", ":generateContent");
      const { lease, settled, calls } = await openGateway(model.endpoint.url);
      const url = `${lease.url}/${provider}${below}`;
      const through = await post(url, header, lease.token, sent);
      const direct = await post(`${model.endpoint.url}${below}`, header, KEY, sent);
      expect(through.status).toBe(200);
      expect(through.headers.get("content-type")).toBe(direct.headers.get("content-type"));
      const ids = (text: string) => text.replace(/[0-9a-f]{32}/g, "ID");
      expect(ids(await through.text())).toBe(ids(await direct.text()));
      expect(model.requests.map(({ key }) => key)).toEqual([KEY, KEY]);
      expect(calls).toMatchObject([{ provider, model: "m", maxOutput: 7, isPriced: true, tools: [] }]);
      expect(settled).toMatchObject([
        {
          outcome: "completed",
          usage: { input: 10, output: 5, cache_read: 0, cache_write: 0, estimated: false },
          spent: { tokens: 15, cost: 20 },
        },
      ]);
    },
  );

  test("is cut off in the middle when a budget is used up, with an error, also where it is a list", async () => {
    const closed = Promise.withResolvers<void>();
    const isList = provider === "gemini";
    const address = await serve((_, response) => {
      response.writeHead(200, { "content-type": isList ? "application/json" : "text/event-stream" });
      if (isList) response.write("[");
      const text = "x".repeat(40);
      const written = {
        ...{ type: "content_block_delta", delta: path.includes("responses") ? text : { text } },
        ...{ choices: [{ delta: { content: text } }], candidates: [{ content: { parts: [{ text }] } }] },
      };
      const timer = setInterval(
        () => response.write(isList ? `${JSON.stringify(written)},\n` : sseText({ json: written })),
        1,
      );
      response.once("close", () => {
        clearInterval(timer);
        closed.resolve();
      });
    });
    const { lease, settled } = await openGateway(address, { room: 200 });
    const below = path.replace("?alt=sse", "");
    const response = await post(`${lease.url}/${provider}${below}`, header, lease.token, body);
    const text = await response.text();
    await closed.promise;
    expect(text).toContain("a budget is used up");
    expect(settled).toMatchObject([{ outcome: "cut", usage: { estimated: true } }]);
    expect(settled[0]?.spent.tokens).toBeGreaterThan(200);
    expect(settled[0]?.spent.tokens).toBeLessThan(200 + 100);
  });

  test("estimates what a stream used that broke off, and says so", async () => {
    const address = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const json = {
        ...{ type: "content_block_delta", delta: { text: "x".repeat(400) } },
        ...{ choices: [{ delta: { content: "x".repeat(400) } }] },
        candidates: [{ content: { parts: [{ text: "x".repeat(400) }] } }],
      };
      const event = path.includes("responses")
        ? { type: "response.output_text.delta", delta: "x".repeat(400) }
        : json;
      response.write(sseText({ json: event }), () => response.destroy());
    });
    const { lease, settled } = await openGateway(address);
    const response = await post(`${lease.url}/${provider}${path}`, header, lease.token, body);
    await expect(response.text()).rejects.toThrow();
    await expect
      .poll(() => settled)
      .toMatchObject([{ outcome: "broken", usage: { output: 100, estimated: true } }]);
    expect(settled[0]?.usage.input).toBeGreaterThan(0);
  });
});

describe("what caches held", () => {
  const usages = [
    [
      "anthropic",
      "/v1/messages",
      {
        type: "message",
        usage: {
          input_tokens: 1,
          output_tokens: 2,
          cache_read_input_tokens: 30,
          cache_creation_input_tokens: 400,
        },
      },
      { input: 1, output: 2, cache_read: 30, cache_write: 400 },
    ],
    [
      "openai",
      "/v1/chat/completions",
      { usage: { prompt_tokens: 50, completion_tokens: 6, prompt_tokens_details: { cached_tokens: 20 } } },
      { input: 30, output: 6, cache_read: 20, cache_write: 0 },
    ],
    [
      "openai",
      "/v1/responses",
      {
        usage: {
          ...{ input_tokens: 50, output_tokens: 6 },
          input_tokens_details: { cached_tokens: 20, cache_write_tokens: 25 },
        },
      },
      { input: 5, output: 6, cache_read: 20, cache_write: 25 },
    ],
    [
      "gemini",
      "/v1beta/models/m:generateContent",
      {
        candidates: [{ finishReason: "STOP" }],
        usageMetadata: {
          promptTokenCount: 50,
          candidatesTokenCount: 6,
          thoughtsTokenCount: 7,
          cachedContentTokenCount: 20,
        },
      },
      { input: 30, output: 13, cache_read: 20, cache_write: 0 },
    ],
    [
      "gemini",
      "/v1beta/models/m:streamGenerateContent",
      [
        { candidates: [{}] },
        {
          candidates: [{ finishReason: "STOP" }],
          usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 6 },
        },
      ],
      { input: 5, output: 6, cache_read: 0, cache_write: 0 },
    ],
  ] as const;

  test.each(usages)("is counted apart: %s %s", async (provider, path, document, counts) => {
    const address = await serve(
      (_, response) =>
        void response.setHeader("content-type", "application/json").end(JSON.stringify(document)),
    );
    const { lease, settled } = await openGateway(address);
    await (await post(`${lease.url}/${provider}${path}`, "x-api-key", lease.token, { model: "m" })).text();
    expect(settled).toMatchObject([{ usage: { ...counts, estimated: false } }]);
  });
});

describe("a token", () => {
  test.each(["", "sk-other", "reins_gw_unknown"])(
    "that is none (%j) is answered with 401, and nothing leaves",
    async (token) => {
      await using model = await ScriptedModel.listen({ script: () => reply() });
      const opened = await openGateway(model.endpoint.url);
      const response = await ask(opened, MESSAGES.body, { token });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ type: "error", error: { type: "authentication_error" } });
      expect([model.requests, opened.calls]).toEqual([[], []]);
    },
  );

  test("that was revoked is worth nothing, and another one still is", async () => {
    await using model = await ScriptedModel.listen({ script: () => reply() });
    const opened = await openGateway(model.endpoint.url);
    const other = await opened.gateway.lease(["gemini"], { admit: async () => ({ refused: "no" }) });
    opened.lease.revoke();
    expect((await ask(opened)).status).toBe(401);
    // Leased for another provider.
    expect((await ask(opened, MESSAGES.body, { token: other.token })).status).toBe(401);
    const url = `${other.url}/gemini/v1beta/models/m:generateContent?key=${other.token}`;
    expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(403);
    expect(model.requests).toEqual([]);
  });
});

test("a response under way ends with the token, so that no other process that has it reads on", async () => {
  const closed = Promise.withResolvers<void>();
  const address = await serve((_, response) => {
    response.once("close", () => closed.resolve());
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(sseText({ json: { type: "content_block_delta", delta: { text: "some words" } } }));
  });
  const opened = await openGateway(address);
  const response = await ask(opened);
  await response.body?.getReader().read();
  opened.lease.revoke();
  await closed.promise;
  await expect.poll(() => opened.settled).toMatchObject([{ outcome: "cancelled" }]);
});

describe("what calls take of the memory is bounded", () => {
  test("also where a small body takes much of it, and others still have room", async () => {
    await using model = await ScriptedModel.listen({ script: () => reply() });
    const { gateway, lease } = await openGateway(model.endpoint.url);
    const decided = Promise.withResolvers<Admission>();
    let waiting = 0;
    const admit = () => {
      waiting += 1;
      return decided.promise;
    };
    const greedy = await gateway.lease(PROVIDERS, { admit });
    const packed = gzipSync(`{"model":"m","messages":[${"0,".repeat(1_400_000)}0]}`);
    const send = () =>
      fetch(`${greedy.url}/anthropic/v1/messages`, {
        ...{ method: "POST", body: packed },
        headers: { "x-api-key": greedy.token, "content-encoding": "gzip" },
      });
    const held = [send(), send()];
    await expect.poll(() => waiting).toBe(2);
    expect((await send()).status).toBe(503);
    expect((await ask({ lease })).status).toBe(200);
    decided.resolve({ refused: "that is all" });
    for (const { status } of await Promise.all(held)) expect(status).toBe(403);
    expect(waiting).toBe(2);
  });

  test("and where a body has millions of values", async () => {
    const { lease, calls } = await openGateway("http://127.0.0.1:9");
    const response = await ask({ lease }, `{"model":"m","messages":[${"[],".repeat(1_000_000)}0]}`);
    expect([response.status, calls]).toEqual([400, []]);
  });
});

describe("a request is refused before anything leaves", () => {
  const cases: [string, (url: string, token: string) => Promise<Response>, number][] = [
    [
      "by its governor",
      (url, token) => post(`${url}/anthropic/v1/messages`, "x-api-key", token, MESSAGES.body),
      403,
    ],
    [
      "with a member twice",
      (url, token) => post(`${url}/anthropic/v1/messages`, "x-api-key", token, '{"model":"a","model":"b"}'),
      400,
    ],
    [
      "that is no object",
      (url, token) => post(`${url}/anthropic/v1/messages`, "x-api-key", token, "[]"),
      400,
    ],
    [
      "that is nested without end",
      (url, token) => post(`${url}/anthropic/v1/messages`, "x-api-key", token, "[".repeat(100_000)),
      400,
    ],
    [
      "to a method without a row",
      (url, token) => post(`${url}/anthropic/v1/files`, "x-api-key", token, {}),
      404,
    ],
    [
      "by a path that leads elsewhere",
      (url, token) => post(`${url}/openai/v1/chat/completions/../../x`, "x-api-key", token, {}),
      404,
    ],
    [
      "to a model with a path in its name",
      (url, token) => post(`${url}/gemini/v1beta/models/a%2F..:generateContent`, "x-api-key", token, {}),
      404,
    ],
    [
      "of another HTTP method",
      (url, token) => fetch(`${url}/anthropic/v1/messages`, { headers: { "x-api-key": token } }),
      404,
    ],
    [
      "with a member in two spellings, of which some servers take the last",
      (url, token) =>
        post(`${url}/openai/v1/chat/completions`, "x-api-key", token, '{"model":"a","Model":"b"}'),
      400,
    ],
    [
      "that names any number of models",
      (url, token) => {
        const models = Array.from({ length: 21 }, (_, index) => `m${index}`);
        return post(`${url}/openai/v1/chat/completions`, "x-api-key", token, { model: "m", models });
      },
      400,
    ],
    [
      "in another encoding than UTF-8",
      (url, token) =>
        fetch(`${url}/anthropic/v1/messages`, {
          ...{ method: "POST", body: Buffer.from('{"model":"a"}', "utf16le") },
          headers: { "x-api-key": token, "content-type": "application/json; charset=utf-16" },
        }),
      400,
    ],
    [
      "that is packed in an unknown way",
      (url, token) =>
        fetch(`${url}/anthropic/v1/messages`, {
          method: "POST",
          headers: { "x-api-key": token, "content-encoding": "what" },
          body: "{}",
        }),
      400,
    ],
  ];
  test.each(cases)("%s", async (_, send, status) => {
    let reached = 0;
    const address = await serve((_request, response) => {
      reached += 1;
      response.end("{}");
    });
    const { lease } = await openGateway(address, { refused: "the rules say no" });
    const response = await send(lease.url, lease.token);
    expect([response.status, reached]).toEqual([status, 0]);
    expect(await response.text()).not.toContain(KEY);
  });

  test.each([undefined, new Error("the keys are damaged")])("where there is no key (%s)", async (fault) => {
    const errors: unknown[] = [];
    const get = async () => {
      if (fault) throw fault;
      return undefined;
    };
    const onError = (error: unknown) => errors.push(error);
    const gateway = new ModelGateway({ keys: { get }, prices: new PriceList(), onError });
    onTestFinished(() => gateway.close());
    const lease = await gateway.lease(PROVIDERS, { admit: async () => ({ refused: "never asked" }) });
    const response = await ask({ lease });
    expect([response.status, errors]).toEqual([401, fault ? [fault] : []]);
    expect(await response.text()).toContain("reins keys set anthropic");
  });

  test("where the governor fails", async () => {
    const { gateway, errors } = await openGateway("http://127.0.0.1:9");
    const lease = await gateway.lease(PROVIDERS, {
      admit: async () => {
        throw new Error("the disk is full");
      },
    });
    const response = await ask({ lease });
    expect([response.status, errors.length]).toEqual([403, 1]);
    expect(await response.text()).toContain("the disk is full");
  });
});

describe("a provider", () => {
  test("is sent the body as it came, also packed, and the headers but for those about the connection", async () => {
    const seen: http.IncomingHttpHeaders[] = [];
    const asked: unknown[] = [];
    const bodies: Buffer[] = [];
    const server = await LoopbackServer.listen();
    onTestFinished(() => server.close());
    server.serve(async (request, response) => {
      seen.push(request.headers);
      asked.push([request.method, request.url]);
      bodies.push(Buffer.concat(await request.toArray()));
      response.end("{}");
    });
    const { lease, calls } = await openGateway(server.url);
    const packed = gzipSync(JSON.stringify(MESSAGES.body));
    const headers = {
      "x-api-key": lease.token,
      "content-encoding": "gzip",
      "anthropic-version": "2023-06-01",
      cookie: "a=b",
      "content-type": "application/json; charset=utf-7",
      "x-http-method-override": "GET",
    };
    const query = "?beta=true&%6Bey=own&Access_Token=own";
    await fetch(`${lease.url}/anthropic/v1/messages${query}`, { method: "POST", headers, body: packed });
    expect(bodies).toEqual([packed]);
    expect(asked).toEqual([["POST", "/v1/messages?beta=true"]]);
    expect(calls).toMatchObject([{ model: "m" }]);
    expect(seen).toMatchObject([
      {
        "x-api-key": KEY,
        "content-encoding": "gzip",
        "anthropic-version": "2023-06-01",
        "accept-encoding": "identity",
        "content-type": "application/json",
      },
    ]);
    expect(JSON.stringify(seen)).not.toContain(lease.token);
    expect(seen[0]).not.toHaveProperty("cookie");
    expect(seen[0]).not.toHaveProperty("x-http-method-override");
  });

  test.each([400, 401, 429, 500, 529])(
    "that answers %i costs nothing, and its answer passes",
    async (status) => {
      const address = await serve(
        (_, response) => void response.writeHead(status, { "retry-after": "7" }).end('{"type":"error"}'),
      );
      const opened = await openGateway(address);
      const response = await ask(opened);
      expect([response.status, response.headers.get("retry-after"), await response.text()]).toEqual([
        status,
        "7",
        '{"type":"error"}',
      ]);
      expect(opened.settled).toMatchObject([{ outcome: "failed", spent: { tokens: 0, cost: 0 } }]);
    },
  );

  test("that redirects is not followed, and neither is its address shown", async () => {
    let reached = 0;
    const elsewhere = await serve((_, response) => {
      reached += 1;
      response.end();
    });
    const address = await serve(
      (_, response) => void response.writeHead(307, { location: `${elsewhere}/v1/messages` }).end(),
    );
    const opened = await openGateway(address);
    const response = await ask(opened);
    expect([response.status, response.headers.get("location"), reached]).toEqual([502, null, 0]);
  });

  test("that cannot be reached, or hangs up, or sends endless headers is a bad gateway, and has read what was sent to it", async () => {
    const hangsUp = await serve((request) => void request.socket.destroy());
    const endless = await serve((_, response) => {
      response.socket?.write(`HTTP/1.1 200 OK\r\n${"x-long: y\r\n".repeat(10_000)}\r\n`);
    });
    for (const address of ["http://127.0.0.1:9", hangsUp, endless]) {
      const opened = await openGateway(address);
      expect((await ask(opened)).status).toBe(502);
      const isRead = address === hangsUp || address === endless;
      const spent = { tokens: isRead ? expect.toSatisfy((tokens: number) => tokens > 0) : 0 };
      expect(opened.settled).toMatchObject([{ outcome: "broken", usage: { estimated: isRead }, spent }]);
    }
  });

  test("that packs its response though it was not asked to is counted as the most that it may be", async () => {
    const address = await serve(
      (_, response) => void response.setHeader("content-encoding", "gzip").end(gzipSync("{}")),
    );
    const opened = await openGateway(address);
    expect(await (await ask(opened)).text()).toBe("{}");
    expect(opened.settled).toMatchObject([{ usage: { output: 7, estimated: true } }]);
  });

  test("that was at a response which is not streamed when the connection broke is paid for its time", async () => {
    const address = await serve((request) => void setTimeout(() => request.socket.destroy(), 150));
    const opened = await openGateway(address);
    expect((await ask(opened, { ...MESSAGES.body, stream: false })).status).toBe(502);
    expect((await ask(opened)).status).toBe(502);
    expect(opened.settled).toMatchObject([
      { outcome: "broken", usage: { output: 7, estimated: true } },
      { outcome: "broken", usage: { output: 0, estimated: true } },
    ]);
  });

  test.each(["application/x-protobuf", "text/javascript"])(
    "that answers with %s, which cannot be counted, is paid for the longest response",
    async (type) => {
      const address = await serve(
        (_, response) => void response.setHeader("content-type", type).end("read({});"),
      );
      const opened = await openGateway(address);
      expect(await (await ask(opened)).text()).toBe("read({});");
      expect(opened.settled).toMatchObject([{ usage: { output: 7, estimated: true } }]);
    },
  );

  test("sees that the agent hung up, and what was said until then is counted", async () => {
    const closed = Promise.withResolvers<void>();
    const address = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(
        sseText({
          json: { type: "message_start", message: { usage: { input_tokens: 9, output_tokens: 1 } } },
        }),
      );
      response.once("close", () => closed.resolve());
    });
    const opened = await openGateway(address);
    const abort = new AbortController();
    const response = await ask(opened, MESSAGES.body, { signal: abort.signal });
    await response.body?.getReader().read();
    abort.abort();
    await closed.promise;
    await expect
      .poll(() => opened.settled)
      .toMatchObject([{ outcome: "cancelled", usage: { input: 9, output: 1, estimated: true } }]);
  });

  test("is read no faster than the agent reads", async () => {
    const chunk = Buffer.alloc(1 << 20, "x");
    let written = 0;
    const address = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const more = () => {
        while (written < 200 && response.write(chunk)) written += 1;
        written += 1;
        if (written < 200) response.once("drain", more);
        else response.end();
      };
      more();
    });
    const { lease } = await openGateway(address);
    const { port } = new URL(lease.url);
    const socket = connect(Number(port), "127.0.0.1");
    const body = JSON.stringify(MESSAGES.body);
    socket.write(
      `POST /anthropic/v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${lease.token}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await once(socket, "readable");
    // Nothing is read here, so what was written stays at what sockets and streams hold.
    let before = -1;
    await expect
      .poll(
        () => {
          const isStill = written === before;
          before = written;
          return isStill;
        },
        { interval: 300 },
      )
      .toBe(true);
    expect(written).toBeLessThan(50);
    socket.destroy();
  });
});

test("a stream is cut off when a budget is used up, with an error in its dialect", async () => {
  const closed = Promise.withResolvers<void>();
  let sent = 0;
  const address = await serve((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const delta = sseText({ json: { type: "content_block_delta", delta: { text: "x".repeat(40) } } });
    const timer = setInterval(() => {
      sent += 1;
      response.write(delta);
    }, 1);
    response.once("close", () => {
      clearInterval(timer);
      closed.resolve();
    });
  });
  const opened = await openGateway(address, { room: 200 });
  const text = await (await ask(opened)).text();
  await closed.promise;
  expect(text).toContain("a budget is used up");
  expect(opened.settled).toMatchObject([{ outcome: "cut", usage: { estimated: true } }]);
  expect(opened.settled[0]?.spent.tokens).toBeLessThan(200 + 100);
  expect(sent).toBeLessThan(100);
});
