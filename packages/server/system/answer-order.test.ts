import { ServerResponse } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { begin } from "./fixtures/ask.ts";
import { Events } from "./fixtures/events.ts";
import { Messages, RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll();
const ENDED = '"stopReason":"end_turn';
/** More than the buffers of an unread connection hold. */
const MANY = 60_000;

/** Notes what the server writes, in the order in which it does, whatever connection it is for. */
function whatIsWritten(): string[] {
  const written: string[] = [];
  const note = (chunk: unknown) => {
    const text = typeof chunk === "string" || Buffer.isBuffer(chunk) ? String(chunk) : "";
    for (const [found] of text.matchAll(/"text":"(?:part|piece) \d+|"stopReason":"\w+/g)) written.push(found);
  };
  for (const method of ["write", "end"] as const) {
    const original = ServerResponse.prototype[method];
    const spy = vi.spyOn(ServerResponse.prototype, method);
    spy.mockImplementation(function (this: ServerResponse, ...args: unknown[]) {
      note(args[0]);
      return Reflect.apply(original, this, args);
    });
    onTestFinished(() => spy.mockRestore());
  }
  return written;
}

// A stream and an answer are two connections, so no client can tell which of them was written first.
test("a prompt is answered after all updates of its turn are written to the stream", async () => {
  const client = await RpcClient.open(await serveAgents(home()));
  const id = await client.begin(home().workspace);
  const stream = await client.stream();
  const written = whatIsWritten();
  const parts = Array.from({ length: 40 }, (_, part) => `part ${part}`);
  const told = parts.map((part) => `"text":"${part}`);
  for (let turn = 0; turn < 20; turn += 1) {
    await client.prompt(id, ...parts.map((part) => `say ${part}`));
    expect(written.splice(0)).toEqual([...told, ENDED]);
  }
  await expect.poll(() => stream.said.length).toBe(20 * parts.length);
});

test("the response to a prompt waits for a slow reader", async () => {
  const served = await serveAgents(home());
  const client = await RpcClient.open(served);
  const id = await client.begin(home().workspace);
  const headers = { authorization: `Bearer ${client.as}`, accept: "text/event-stream", ...client.named };
  const { sent, response } = await begin(served.address, "GET", "/v1/rpc", { headers });
  sent.on("error", () => undefined);
  const written = whatIsWritten();
  const answer = client.prompt(id, `burst ${MANY}`);
  await expect.poll(() => written.length).toBeGreaterThan(0);
  await stopsGrowing(() => written.length);
  expect(written.length).toBeLessThan(MANY);
  response.resume();
  await answer;
  sent.destroy();
  expect(written).toHaveLength(MANY + 1);
  expect(written.at(-1)).toBe(ENDED);
});

test.each(["/acp", "/v1/rpc"])(
  "the response to a prompt comes after its updates on a stream of %s that opens later, behind a replay",
  async (path) => {
    const served = await serveAgents(home());
    const first = await RpcClient.open(served);
    const sessionId = await first.begin(home().workspace);
    const seen = await first.stream();
    await first.prompt(sessionId, "burst 3000");
    const connection = path === "/acp" ? "acp-connection-id" : "x-acp-connection-id";
    const named: Record<string, string> = {};
    const post = (id: number, method: string, params: object, headers: Record<string, string> = {}) =>
      served.ask("POST", path, {
        body: { jsonrpc: "2.0", id, method, params },
        headers: { ...named, ...headers },
      });
    const stream = async (headers: Record<string, string>) => {
      const shown = { authorization: `Bearer ${served.access.token}`, accept: "text/event-stream" };
      const opened = await begin(served.address, "GET", path, {
        headers: { ...shown, ...named, ...headers },
      });
      onTestFinished(() => void opened.sent.destroy());
      return new Messages(new Events(opened.response), () => opened.sent.destroy());
    };
    const _meta = { "sandboxagent.dev": { agent: "stub" } };
    const { headers } = await post(1, "initialize", { protocolVersion: 1, _meta });
    named[connection] = String(headers[connection]);
    await post(2, "session/load", { sessionId, cwd: home().workspace, mcpServers: [] });
    if (path === "/acp") {
      const own = await stream({});
      await expect.poll(() => own.messages.map(({ id }) => id)).toContain(2);
    }
    const prompt = { sessionId, prompt: [{ type: "text", text: "say last words" }] };
    await post(3, "session/prompt", prompt, { prefer: "respond-async" });
    await expect.poll(() => seen.said.at(-1)).toBe("last words");
    await expect.poll(() => home().hosting.hub.live(sessionId)?.queue.isBusy).toBe(false);
    const later = await stream(path === "/acp" ? { "acp-session-id": sessionId } : {});
    const response = () => later.messages.findIndex(({ id, method }) => id === 3 && method === undefined);
    await expect.poll(response).toBeGreaterThan(-1);
    const before = later.messages.slice(0, response());
    expect(JSON.stringify(before.slice(-3))).toContain("last words");
    expect(before.length).toBeGreaterThan(3_000);
  },
);

/** Settles when a number has been the same for a while. */
async function stopsGrowing(number: () => number): Promise<void> {
  let [before, same] = [-1, 0];
  await expect
    .poll(
      () => {
        same = number() === before ? same + 1 : 0;
        before = number();
        return same;
      },
      { interval: 50 },
    )
    .toBeGreaterThan(10);
}
