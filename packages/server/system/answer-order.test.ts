import { ServerResponse } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { begin } from "./fixtures/ask.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

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
