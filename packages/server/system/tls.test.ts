import { once } from "node:events";
import { request as requestInTheClear } from "node:http";
import { constants } from "node:http2";
import { request } from "node:https";
import { ManualClock } from "@reins/kit/manual-clock";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { newCertificate } from "./fixtures/certificate.ts";
import { Gate } from "./fixtures/gate.ts";
import type { Served } from "./fixtures/home.ts";
import { Http2Client, textOf } from "./fixtures/http2-client.ts";
import { promptOf } from "./fixtures/rpc-client.ts";

const home = agentsForAll();
const tls = newCertificate();

const serve = (options: Parameters<typeof serveAgents>[1] = {}) =>
  serveAgents(home(), { ...options, listen: { tls } });
const over2 = (served: Served) =>
  Http2Client.open(served.address, { ca: tls.cert, token: served.access.token });

const META = { "sandboxagent.dev": { agent: "stub" } };
const NAME = "x-acp-connection-id";
const message = (id: number, method: string, params: object) => ({ jsonrpc: "2.0", id, method, params });

/** A connection of `/v1/rpc` over one connection of HTTP/2, with a session and its stream. */
async function begun(client: Http2Client) {
  const post = (body: object, headers = {}) => client.ask("POST", "/v1/rpc", { body, headers });
  const hello = await post(message(1, "initialize", { protocolVersion: 1, _meta: META }));
  const named = { [NAME]: String(hello.headers[NAME]) };
  const params = { cwd: home().workspace, mcpServers: [], _meta: META };
  const { body } = await post(message(2, "session/new", params), named);
  const session = String(Object(body).result.sessionId);
  const headers = { accept: "text/event-stream", ...named };
  const stream = await client.open("GET", "/v1/rpc", { headers });
  let text = "";
  stream.stream.setEncoding("utf8").on("data", (part) => {
    text += part;
  });
  const messages = () => [...text.matchAll(/^data: (.*)\n\n/gm)].map(([, data = ""]) => JSON.parse(data));
  const prompt = (id: number, ...steps: string[]) =>
    post(message(id, "session/prompt", { sessionId: session, prompt: promptOf(steps) }), named);
  return { session, named, stream, messages, prompt, post: (body: object) => post(body, named) };
}

/** Asks over HTTP/1.1. */
function over1(served: Served, path: string, { method = "GET", headers = {}, body = "" } = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<{
    version: string;
    headers: NodeJS.Dict<string | string[]>;
    status: number | undefined;
  }>();
  const shown = { authorization: `Bearer ${served.access.token}`, ...headers };
  const sent = request(
    `${served.address}${path}`,
    { method, headers: shown, ca: tls.cert, agent: false },
    (response) => {
      response.resume();
      resolve({ version: response.httpVersion, headers: response.headers, status: response.statusCode });
    },
  );
  sent.once("error", reject);
  sent.end(body);
  return promise;
}

describe("HTTP/2", () => {
  test("carries stream, long-polled prompt and answer of a turn on one connection", async () => {
    const served = await serve();
    const client = await over2(served);
    expect(client.session.alpnProtocol).toBe("h2");
    const { stream, messages, prompt, post } = await begun(client);
    expect(stream).toMatchObject({ status: 200, headers: { "content-type": "text/event-stream" } });
    const turn = prompt(3, "say before", `write ${home().workspace}/notes`);
    const question = () => messages().find(({ method }) => method === "session/request_permission");
    await expect.poll(question).toBeDefined();
    const result = { outcome: { outcome: "selected", optionId: "allow_once" } };
    expect((await post({ jsonrpc: "2.0", id: question().id, result })).status).toBe(202);
    expect(await turn).toMatchObject({ status: 200, body: { id: 3, result: { stopReason: "end_turn" } } });
    await expect.poll(() => JSON.stringify(messages())).toContain("before");
  });

  test("responds with a problem to every error", async () => {
    const served = await serve({ limits: { maxBodyBytes: 1_000, maxMessageBytes: 1_000 } });
    const client = await over2(served);
    const big = JSON.stringify({ text: "x".repeat(5_000) });
    const cases = [
      [await client.ask("GET", "/v1/nowhere"), 404],
      [await client.ask("PUT", "/v1/rpc"), 405],
      [await client.ask("POST", "/v1/rpc", { body: "{" }), 400],
      [await client.ask("POST", "/v1/rpc", { body: big }), 413],
      [await client.ask("POST", "/ahp", { body: "x", headers: { "content-type": "text/plain" } }), 415],
      [await client.ask("GET", "/v1/health", { headers: { ":authority": "elsewhere.example" } }), 403],
      [await client.ask("GET", "/v1/sessions", { headers: { authorization: "Bearer wrong" } }), 401],
      [await client.ask("GET", "/v1/sessions", { headers: { host: "localhost" } }), 200],
      [await client.ask("GET", "/v1/sessions", { headers: { expect: "wonders" } }), 200],
    ] as const;
    for (const [answer, status] of cases) {
      expect(answer.status).toBe(status);
      if (status >= 400) expect(answer.headers["content-type"]).toBe("application/problem+json");
    }
    const tunnel = client.session.request({ ":method": "CONNECT", ":authority": "elsewhere.example:80" });
    const [headers] = await once(tunnel, "response");
    expect(headers).toMatchObject({ ":status": 405, "content-type": "application/problem+json" });
  });

  test("times out a request that does not arrive", async () => {
    const clock = new ManualClock();
    const served = await serve({ clock });
    const client = await over2(served);
    const stream = client.begin("POST", "/v1/login", { "content-type": "application/json" });
    stream.write('{"code":');
    // Whatever was sent before it on the same connection has arrived when this is answered.
    await client.ask("GET", "/v1/health");
    clock.advance(60_000);
    const [headers] = await once(stream, "response");
    expect(headers).toMatchObject({ ":status": 408, "content-type": "application/problem+json" });
    expect(JSON.parse(await textOf(stream))).toMatchObject({ detail: "the request took too long to arrive" });
  });

  test("does not block other streams of a connection for a slow reader, who misses nothing", async () => {
    const served = await serve({ limits: { maxBufferedBytes: 64 * 1024 } });
    const client = await over2(served);
    const [fast, slow] = [await begun(client), await begun(client)];
    await slow.post(message(3, "session/resume", { sessionId: fast.session }));
    slow.stream.stream.pause();
    const count = 5_000;
    expect((await fast.prompt(3, `burst ${count}`)).status).toBe(200);
    const heard = (one: typeof fast) => one.messages().filter(({ method }) => method === "session/update");
    await expect.poll(() => heard(fast).length).toBe(count);
    expect(heard(slow).length).toBeLessThan(count);
    slow.stream.stream.resume();
    // One more for the prompt, which only other clients get.
    await expect.poll(() => heard(slow).length).toBe(count + 1);
  });

  test("sends the response on the stream when the client disconnected", async () => {
    const client = await over2(await serve());
    const { session, named, messages, post } = await begun(client);
    const asking = client.begin("POST", "/v1/rpc", { "content-type": "application/json", ...named });
    const params = { sessionId: session, prompt: promptOf(["say begun", "wait"]) };
    asking.end(JSON.stringify(message(77, "session/prompt", params)));
    await expect.poll(() => JSON.stringify(messages())).toContain("begun");
    asking.close(constants.NGHTTP2_CANCEL);
    await once(asking, "close");
    await post({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: session } });
    await expect.poll(() => messages().at(-1)).toMatchObject({ id: 77, result: { stopReason: "cancelled" } });
  });

  test("keeps no stream for a reader that disconnected before it opened", async () => {
    const gate = new Gate(home().hosting);
    const client = await over2(await serve({ agents: { hosting: () => gate.pass() } }));
    const { stream, named } = await begun(client);
    stream.stream.close();
    const headers = { accept: "text/event-stream", ...named };
    gate.shut();
    const gone = client.begin("GET", "/v1/rpc", headers);
    gone.end();
    await expect.poll(() => gate.waiting).toBe(1);
    gone.close(constants.NGHTTP2_CANCEL);
    // Whatever was sent before it on the same connection has arrived when this is answered.
    await client.ask("GET", "/v1/health");
    gate.open();
    await expect.poll(async () => (await client.open("GET", "/v1/rpc", { headers })).status).toBe(200);
  });

  test("finishes running requests when the server closes, and accepts no new ones", async () => {
    const served = await serve();
    const client = await over2(served);
    const { stream, messages, prompt } = await begun(client);
    const turn = prompt(3, "say begun", "sleep 200");
    await expect.poll(() => JSON.stringify(messages())).toContain("begun");
    const ended = once(stream.stream, "close");
    const closing = served.gateway.close();
    expect((await turn).status).toBe(200);
    await ended;
    await closing;
    await expect.poll(() => client.session.closed).toBe(true);
  });
});

describe("HTTP/1.1 over TLS", () => {
  test("works for clients without HTTP/2, with secure cookies", async () => {
    const served = await serve();
    expect(served.address).toMatch(/^https:/);
    const body = JSON.stringify({ code: served.access.newCode() });
    const headers = { "content-type": "application/json" };
    const answer = await over1(served, "/v1/login", { method: "POST", headers, body });
    expect(answer.version).toBe("1.1");
    expect(answer.headers["set-cookie"]?.[0]).toMatch(/; Secure$/);
    const offering = { headers: { connection: "upgrade", upgrade: "h2c" } };
    expect((await over1(served, "/v1/health", offering)).status).toBe(200);
  });

  test("can be upgraded to a WebSocket", async () => {
    const served = await serve();
    const url = `${served.address.replace(/^http/, "ws")}/acp`;
    const headers = { authorization: `Bearer ${served.access.token}` };
    const socket = new WebSocket(url, { headers, ca: tls.cert });
    onTestFinished(() => socket.terminate());
    await once(socket, "open");
    socket.send(JSON.stringify(message(1, "initialize", { protocolVersion: 1 })));
    const [data] = await once(socket, "message");
    expect(JSON.parse(String(data))).toMatchObject({ id: 1, result: { protocolVersion: 1 } });
  });

  test("does not respond to clients without TLS, and keeps working", async () => {
    const served = await serve();
    const sent = requestInTheClear(served.address.replace("https", "http"), { agent: false }).end();
    await once(sent, "error");
    expect((await over1(served, "/v1/health")).status).toBe(200);
  });
});
