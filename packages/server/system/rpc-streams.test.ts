import { request } from "node:http";
import { ManualClock } from "@reins/kit/manual-clock";
import { describe, expect, test } from "vitest";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { begin } from "./fixtures/ask.ts";
import { Gate } from "./fixtures/gate.ts";
import { type Messages, promptOf, RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll();

const grows = (numbers: readonly number[]) =>
  numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? 0));

describe("the stream of a connection", () => {
  test("starts at the connection's beginning without a last event id, and after it with one", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace);
    await client.prompt(id, "say one", "say two");
    const first = await client.stream();
    await expect.poll(() => first.said).toEqual(["one", "two"]);
    expect(first.ids).toHaveLength(2);
    first.close();
    await first.ended;
    await client.prompt(id, "say three");
    const [, second] = first.ids;
    const after = await reopened(client, { "last-event-id": String(second) });
    await expect.poll(() => after.said).toEqual(["three"]);
    after.close();
    await after.ended;
    const again = await reopened(client, {});
    await expect.poll(() => again.said).toEqual(["one", "two", "three"]);
    expect(grows(again.ids)).toBe(true);
  });

  test("consists of server-sent events named message, each with an id and one line of data", async () => {
    const served = await serveAgents(home());
    const client = await RpcClient.open(served);
    const id = await client.begin(home().workspace);
    await client.prompt(id, "say one");
    const headers = { authorization: `Bearer ${client.as}`, accept: "text/event-stream", ...client.named };
    const { sent, response } = await begin(served.address, "GET", "/v1/rpc", { headers });
    sent.on("error", () => undefined);
    expect(response.headers["content-type"]).toBe("text/event-stream");
    response.setEncoding("utf8");
    let text = "";
    for await (const part of response) {
      text += part;
      if (text.endsWith("\n\n")) break;
    }
    sent.destroy();
    expect(text).toMatch(/^id: \d+\nevent: message\ndata: \{"jsonrpc":"2\.0".*\}\n\n$/);
  });

  test("sends keep-alives", async () => {
    const clock = new ManualClock();
    const served = await serveAgents(home(), { clock });
    const client = await RpcClient.open(served);
    const headers = { authorization: `Bearer ${client.as}`, accept: "text/event-stream", ...client.named };
    const { sent, response } = await begin(served.address, "GET", "/v1/rpc", { headers });
    sent.on("error", () => undefined);
    clock.advance(15_000);
    response.setEncoding("utf8");
    for await (const part of response) {
      expect(part).toMatch(/^: /);
      break;
    }
    sent.destroy();
  });

  test("allows one reader at a time, and rejects invalid requests", async () => {
    const served = await serveAgents(home());
    const client = await RpcClient.open(served);
    const first = await client.stream();
    expect(first.status).toBe(200);
    expect((await client.stream()).status).toBe(409);
    first.close();
    expect((await reopened(client, {})).status).toBe(200);
    const statuses = async (headers: Record<string, string>, named = client.named) =>
      (await served.ask("GET", "/v1/rpc", { headers: { accept: "text/event-stream", ...named, ...headers } }))
        .status;
    expect(await statuses({}, {})).toBe(400);
    expect(await statuses({ accept: "application/json" })).toBe(406);
    for (const id of ["x", "1.5", "-1", "1e3", "0x10"])
      expect(await statuses({ "last-event-id": id })).toBe(400);
    expect(await statuses({ "x-acp-connection-id": "unknown" })).toBe(404);
    const neighbour = await served.person();
    const shown = { ...client.named, accept: "text/event-stream" };
    expect((await served.ask("GET", "/v1/rpc", { as: neighbour.secret, headers: shown })).status).toBe(403);
  });

  test("ends when the token that it was opened with is revoked", async () => {
    const clock = new ManualClock();
    const served = await serveAgents(home(), { clock });
    const { secret: as, id } = await served.person();
    const client = await RpcClient.open(served, { as });
    const stream = await client.stream();
    await served.harness.identity.revokeToken(id);
    clock.advance(15_000);
    await stream.ended;
    expect((await client.request("session/list")).status).toBe(401);
  });

  test("is not kept for a reader that disconnected before it opened", async () => {
    const gate = new Gate(home().hosting);
    const served = await serveAgents(home(), { agents: { hosting: () => gate.pass() } });
    const client = await RpcClient.open(served);
    gate.shut();
    const hungUp = Promise.withResolvers<void>();
    const headers = { authorization: `Bearer ${client.as}`, accept: "text/event-stream", ...client.named };
    const sent = request(`${served.address}/v1/rpc`, { headers, agent: false });
    sent.on("error", () => hungUp.resolve());
    sent.end();
    await expect.poll(() => gate.waiting).toBe(1);
    sent.destroy();
    await hungUp.promise;
    // Who comes later is answered later, so that the server knows of it by then.
    await served.ask("GET", "/v1/health");
    gate.open();
    await expect.poll(async () => (await client.stream()).status).toBe(200);
  });

  test("allows one reader also when several connect before hosting is open", async () => {
    const first = await RpcClient.open(await serveAgents(home()));
    const gate = new Gate(home().hosting);
    gate.shut();
    const client = new RpcClient(await serveAgents(home(), { agents: { hosting: () => gate.pass() } }));
    client.connection = first.connection;
    const streams = Promise.all([client.stream(), client.stream(), client.stream()]);
    await expect.poll(() => gate.waiting).toBe(3);
    gate.open();
    expect((await streams).map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
  });

  test("reports a gap for an unknown event id", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace);
    await client.prompt(id, "say one");
    const stream = await client.stream({ "last-event-id": "900000000" });
    await expect
      .poll(() => stream.messages[0])
      .toMatchObject({ method: "_reins/gap", params: { sessionId: id, until: 900_000_000, reason: "lost" } });
    await client.prompt(id, "say two");
    await expect.poll(() => stream.said).toEqual(["two"]);
  });
});

describe("a reader that stops reading", () => {
  test("misses nothing, does not block others, and has a bounded buffer", async () => {
    const served = await serveAgents(home(), { limits: { maxBufferedBytes: 64 * 1024 } });
    const [slow, fast] = [await RpcClient.open(served), await RpcClient.open(served)];
    const id = await fast.begin(home().workspace);
    await slow.result("session/resume", { sessionId: id });
    const headers = { authorization: `Bearer ${slow.as}`, accept: "text/event-stream", ...slow.named };
    const { sent, response } = await begin(served.address, "GET", "/v1/rpc", { headers });
    sent.on("error", () => undefined);
    response.pause();
    const stream = await fast.stream();
    const before = process.memoryUsage().arrayBuffers;
    for (let n = 0; n < 4; n += 1) expect((await fast.prompt(id, "burst 5000")).status).toBe(200);
    await expect.poll(() => stream.said.length).toBe(20_000);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
    const seen: number[] = [];
    let text = "";
    response.setEncoding("utf8");
    for await (const part of response) {
      const blocks = (text + part).split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const order = /^id: (\d+)$/m.exec(block)?.[1];
        if (order !== undefined && block.includes("agent_message_chunk")) seen.push(Number(order));
      }
      if (seen.length === 20_000) break;
    }
    sent.destroy();
    const all = new Set(seen);
    expect(seen).toEqual(stream.ids.filter((order) => all.has(order)));
    expect(grows(seen)).toBe(true);
  });

  test("for too long is dropped", async () => {
    const clock = new ManualClock();
    const served = await serveAgents(home(), { clock, limits: { maxBufferedBytes: 16 * 1024 } });
    const { secret: as } = await served.person();
    const client = await RpcClient.open(served, { as });
    const id = await client.begin(home().workspace);
    const headers = { authorization: `Bearer ${client.as}`, accept: "text/event-stream", ...client.named };
    const { sent, response } = await begin(served.address, "GET", "/v1/rpc", { headers });
    sent.on("error", () => undefined);
    response.on("error", () => undefined);
    response.pause();
    const turn = client.prompt(id, "burst 40000");
    await expect
      .poll(async () => {
        clock.advance(15_000);
        return (await served.ask("GET", "/v1/connections", { as })).body;
      })
      .toMatchObject({ connections: [{ id: client.connection, streams: 0 }] });
    sent.destroy();
    expect((await turn).status).toBe(200);
  });
});

describe("under load", () => {
  test("every reader gets every message of its sessions once, in order, and before the response", async () => {
    const served = await serveAgents(home());
    const clients = await Promise.all(Array.from({ length: 8 }, () => RpcClient.open(served)));
    const ids = await Promise.all(clients.map((client) => client.begin(home().workspace)));
    const streams = await Promise.all(clients.map((client) => client.stream()));
    for (const [index, client] of clients.entries())
      await client.result("session/resume", { sessionId: ids[(index + 1) % ids.length] });
    const pieces = (stream: Messages, sessionId: string | undefined) =>
      stream.messages.flatMap(({ params }) => {
        const { update, sessionId: of } = Object(params);
        return of === sessionId && update?.sessionUpdate === "agent_message_chunk"
          ? [update.content.text]
          : [];
      });
    await Promise.all(
      clients.map(async (client, index) => {
        for (let turn = 0; turn < 5; turn += 1) {
          const answer = await client.prompt(ids[index] ?? "", `burst ${100 + index}`, `say end of ${turn}`);
          expect(answer.status).toBe(200);
        }
      }),
    );
    for (const [index, stream] of streams.entries()) {
      const other = (index + 1) % ids.length;
      await expect.poll(() => pieces(stream, ids[other]).length).toBe(5 * (101 + other));
      const expected = Array.from({ length: 5 }, (_, turn) => [
        ...Array.from({ length: 100 + index }, (_, n) => `piece ${n} of what is said `),
        `end of ${turn}`,
      ]).flat();
      // The answers came over another connection than the stream, and a client may read the two in any order.
      await expect.poll(() => pieces(stream, ids[index]).length).toBe(expected.length);
      expect(pieces(stream, ids[index])).toEqual(expected);
      expect(grows(stream.ids)).toBe(true);
    }
  });
});

describe("an answer on the stream", () => {
  test("comes after the updates when the client prefers it, and can be replayed", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    const body = {
      jsonrpc: "2.0",
      id: "later",
      method: "session/prompt",
      params: { sessionId: id, prompt: promptOf(["burst 50", "say end"]) },
    };
    const taken = await client.post(body, { prefer: "respond-async, wait=10" });
    expect(taken).toMatchObject({
      status: 202,
      text: "",
      headers: { "preference-applied": "respond-async" },
    });
    await expect
      .poll(() => stream.messages.at(-1))
      .toMatchObject({ jsonrpc: "2.0", id: "later", result: { stopReason: "end_turn" } });
    expect(stream.said.at(-1)).toBe("end");
    expect(stream.ids).toHaveLength(52);
    stream.close();
    await stream.ended;
    const again = await reopened(client, { "last-event-id": String(stream.ids.at(-2)) });
    await expect
      .poll(() => again.messages)
      .toMatchObject([{ id: "later", result: { stopReason: "end_turn" } }]);
  });

  test("comes when the client disconnected before the response", async () => {
    const served = await serveAgents(home());
    const client = await RpcClient.open(served);
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    const params = { sessionId: id, prompt: promptOf(["say begun", "wait"]) };
    const headers = { authorization: `Bearer ${client.as}`, ...client.named };
    const body = { jsonrpc: "2.0", id: 77, method: "session/prompt", params };
    const sent = request(`${served.address}/v1/rpc`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
    });
    sent.on("error", () => undefined);
    sent.end(JSON.stringify(body));
    await expect.poll(() => stream.said).toEqual(["begun"]);
    sent.destroy();
    await client.notify("session/cancel", { sessionId: id });
    await expect
      .poll(() => stream.messages.at(-1))
      .toMatchObject({ id: 77, result: { stopReason: "cancelled" } });
  });
});

/** Opens a stream whose predecessor may not be gone yet. */
async function reopened(client: RpcClient, headers: Record<string, string>): Promise<Messages> {
  for (;;) {
    const stream = await client.stream(headers);
    if (stream.status !== 409) return stream;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("a session that is loaded", () => {
  test("is replayed with ascending event ids, from which the stream can resume", async () => {
    const served = await serveAgents(home());
    const first = await RpcClient.open(served);
    const id = await first.begin(home().workspace);
    await first.prompt(id, "say one", "say two");
    const client = await RpcClient.open(served);
    const stream = await client.stream();
    await client.result("session/load", { sessionId: id, cwd: home().workspace, mcpServers: [] });
    expect(stream.said).toEqual(["one", "two"]);
    expect(stream.got.map(({ id: place }) => place)).not.toContain(undefined);
    expect(stream.ids.toSorted((left, right) => left - right)).toEqual(stream.ids);
    const last = stream.ids.at(-1);
    stream.close();
    await stream.ended;
    await first.prompt(id, "say three");
    const said = async () => {
      const again = await client.stream({ "last-event-id": String(last) });
      if (again.status === 200) await expect.poll(() => again.said.length).toBe(1);
      return again.said;
    };
    await expect.poll(said).toEqual(["three"]);
  });

  test("before a stream is open is answered at once, and replayed in order to the next reader", async () => {
    const served = await serveAgents(home());
    const first = await RpcClient.open(served);
    const id = await first.begin(home().workspace);
    await first.prompt(id, "say one", "say two");
    const client = await RpcClient.open(served);
    await client.result("session/load", { sessionId: id, cwd: home().workspace, mcpServers: [] });
    await client.prompt(id, "say three");
    const stream = await client.stream();
    await expect.poll(() => stream.said).toEqual(["one", "two", "three"]);
    await first.prompt(id, "say four");
    await expect.poll(() => stream.said).toEqual(["one", "two", "three", "four"]);
    expect(stream.ids.toSorted((left, right) => left - right)).toEqual(stream.ids);
  });
});
