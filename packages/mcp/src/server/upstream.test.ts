import { ManualClock, settled } from "@reins/kit/manual-clock";
import { describe, expect, test } from "vitest";
import { ScriptedServer } from "../../test/scripted-server.ts";
import { Faults } from "../faults.ts";
import { MCP_LIMITS } from "../limits.ts";
import type { Message } from "../message.ts";
import { Backoff, Upstream } from "./upstream.ts";

function open() {
  const clock = new ManualClock();
  const server = new ScriptedServer();
  const faults = new Faults("lab");
  const heard: unknown[] = [];
  const upstream = new Upstream(
    { name: "lab", open: server.open, hide: String, limits: MCP_LIMITS, clock, faults },
    {
      request: (message, respond) => {
        heard.push(message.method);
        respond({ jsonrpc: "2.0", id: "overwritten", result: {} });
      },
      notification: (message) => heard.push(message.method),
      over: () => heard.push("over"),
      restarted: () => heard.push("restarted"),
    },
  );
  return { clock, server, faults, heard, upstream };
}

const ask = (method: string, more: object = {}): Message => ({
  jsonrpc: "2.0",
  id: "agent's",
  method,
  ...more,
});
const introduced = { result: { protocolVersion: "1", capabilities: {} } };

describe("a server behind us", () => {
  test("is started when it is first asked, and asked in order", async () => {
    const { server, upstream } = open();
    upstream.notify({ jsonrpc: "2.0", method: "notifications/early" });
    await settled();
    expect(server.starts).toBe(0);
    const answers = [upstream.ask(ask("a")), upstream.ask(ask("b"))];
    upstream.notify({ jsonrpc: "2.0", method: "notifications/c" });
    await settled();
    expect(server.received.map(({ id, method }) => [id, method])).toEqual([
      [1, "a"],
      [2, "b"],
      [undefined, "notifications/c"],
    ]);
    for (const request of server.unanswered) server.answer(request, { result: request.method });
    expect(await Promise.all(answers.map(({ answer }) => answer))).toEqual([
      { response: { jsonrpc: "2.0", id: 1, result: "a" } },
      { response: { jsonrpc: "2.0", id: 2, result: "b" } },
    ]);
  });

  test("is answered under its own id", async () => {
    const { server, upstream } = open();
    void upstream.ask(ask("a")).answer;
    await settled();
    server.say({ jsonrpc: "2.0", id: { odd: [1] }, method: "roots/list" });
    expect(server.received.at(-1)).toEqual({ jsonrpc: "2.0", id: { odd: [1] }, result: {} });
  });

  test("that ends loses what is under way, and waits before it is started again", async () => {
    const { clock, server, faults, heard, upstream } = open();
    const first = upstream.ask(ask("a"));
    await settled();
    server.crash();
    expect(await first.answer).toEqual({ loss: { text: "the server ended", delivered: true } });
    const second = upstream.ask(ask("b"));
    await clock.advanceAndSettle(MCP_LIMITS.firstBackoffMs - 1);
    expect(server.starts).toBe(1);
    await clock.advanceAndSettle(1);
    expect(server.starts).toBe(2);
    server.answer(server.unanswered[0] ?? {}, { result: {} });
    expect(await second.answer).toMatchObject({ response: { id: second.id } });
    expect(heard).toEqual(["over"]);
    expect(faults.counts()).toEqual({ server_lost: 1 });
  });

  test("is introduced to the agent again, before anything else", async () => {
    const { clock, server, heard, upstream } = open();
    void upstream.ask(ask("initialize", { params: { x: 1 } })).answer;
    await settled();
    server.answer(server.unanswered[0] ?? {}, introduced);
    await settled();
    server.crash();
    const later = upstream.ask(ask("b"));
    await clock.advanceAndSettle(1_000);
    expect(server.received.at(-1)).toMatchObject({ method: "initialize", params: { x: 1 } });
    server.answer(server.unanswered[0] ?? {}, introduced);
    await settled();
    expect(server.received.slice(-2).map(({ method }) => method)).toEqual(["notifications/initialized", "b"]);
    server.answer(server.unanswered[0] ?? {}, { result: {} });
    expect(await later.answer).toHaveProperty("response");
    expect(heard).toEqual(["over", "restarted"]);
  });

  test.each([
    ["does not answer", undefined, "did not answer when it was started again"],
    ["speaks differently", { result: { protocolVersion: "2" } }, "came back with another protocol version"],
    ["refuses", { error: { code: 1, message: "no" } }, "did not take the agent's introduction"],
  ])("that comes back and %s is of no use", async (_how, body, text) => {
    const { clock, server, upstream } = open();
    void upstream.ask(ask("initialize")).answer;
    await settled();
    server.answer(server.unanswered[0] ?? {}, introduced);
    await settled();
    server.crash();
    const later = upstream.ask(ask("b"));
    await clock.advanceAndSettle(1_000);
    if (body) server.answer(server.unanswered[0] ?? {}, body);
    else server.say({ jsonrpc: "2.0", method: "notifications/message" });
    await clock.advanceAndSettle(MCP_LIMITS.startMs);
    expect(await later.answer).toEqual({ loss: { text: `the MCP server lab ${text}`, delivered: false } });
  });

  test("that never says a word is given up, and the time counts from when it was asked", async () => {
    const { clock, server, upstream } = open();
    const asked = upstream.ask(ask("a"));
    await clock.advanceAndSettle(MCP_LIMITS.startMs);
    expect(await asked.answer).toMatchObject({ loss: { text: expect.stringContaining("within 30000 ms") } });
    const again = upstream.ask(ask("b"));
    await clock.advanceAndSettle(1_000);
    server.say({ jsonrpc: "2.0", method: "notifications/message" });
    await clock.advanceAndSettle(10 * MCP_LIMITS.startMs);
    server.answer(server.unanswered[0] ?? {}, { result: {} });
    expect(await again.answer).toHaveProperty("response");
  });

  test("that cannot be started is said to be, each time", async () => {
    const { clock, server, upstream } = open();
    server.isOutOfOrder = true;
    const loss = { text: "the MCP server lab could not be started: out of order", delivered: false };
    expect(await upstream.ask(ask("a")).answer).toEqual({ loss });
    const second = upstream.ask(ask("b"));
    await clock.advanceAndSettle(1_000);
    expect(await second.answer).toEqual({ loss });
  });

  test("gets no request that was cancelled while it started, and a notification of those cancelled later", async () => {
    const { server, upstream } = open();
    const early = upstream.ask(ask("a"));
    early.cancel({ jsonrpc: "2.0", method: "notifications/cancelled" });
    expect(await early.answer).toMatchObject({ loss: { delivered: false } });
    const late = upstream.ask(ask("b"));
    await settled();
    late.cancel({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: late.id } });
    await settled();
    expect(server.received.map(({ method }) => method)).toEqual(["b", "notifications/cancelled"]);
  });

  test("does not keep us when it is closed in the midst of being introduced", async () => {
    const { clock, server, upstream } = open();
    void upstream.ask(ask("initialize")).answer;
    await settled();
    server.answer(server.unanswered[0] ?? {}, introduced);
    await settled();
    server.crash();
    const later = upstream.ask(ask("b"));
    await clock.advanceAndSettle(1_000);
    await upstream.close();
    expect(await later.answer).toMatchObject({ loss: { delivered: false } });
  });

  test("is not asked anything after it was closed", async () => {
    const { server, upstream } = open();
    const asked = upstream.ask(ask("a"));
    await settled();
    await upstream.close();
    expect(await asked.answer).toMatchObject({ loss: { delivered: true } });
    expect(await upstream.ask(ask("b")).answer).toMatchObject({ loss: { delivered: false } });
    expect(server.starts).toBe(1);
  });
});

describe("the wait before a server is started again", () => {
  test("doubles up to a bound, and is forgiven to one that lived", async () => {
    const clock = new ManualClock();
    const backoff = new Backoff({ ...MCP_LIMITS, firstBackoffMs: 100, mostBackoffMs: 500 }, clock);
    expect(backoff.wait).toBeLessThanOrEqual(0);
    const waits: number[] = [];
    for (let start = 0; start < 5; start += 1) {
      backoff.started();
      backoff.failed();
      waits.push(backoff.wait);
      await clock.advanceAndSettle(backoff.wait);
    }
    expect(waits).toEqual([100, 200, 400, 500, 500]);
    backoff.started();
    await clock.advanceAndSettle(500);
    backoff.failed();
    expect(backoff.wait).toBe(100);
  });
});
