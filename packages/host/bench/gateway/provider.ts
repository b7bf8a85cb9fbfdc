import { once } from "node:events";
import http from "node:http";
import { parentPort } from "node:worker_threads";
import { LoopbackServer, sseText } from "@reins/kit";

/** What an agent sends in the middle of a conversation: 100 kB. */
export const BODY = JSON.stringify({
  model: "claude-sonnet-4-5",
  max_tokens: 8_000,
  stream: true,
  messages: Array.from({ length: 50 }, () => ({ role: "user", content: "words and code; ".repeat(125) })),
});

/** What opens streams that go on, or closes them; each is answered when it is done. */
export type StreamOrder = { readonly url: string; readonly token: string; readonly count: number } | "close";

const EVENTS = 50;
const DELTA = sseText({
  event: "content_block_delta",
  json: { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "some words of it" } },
});
const USAGE = sseText({
  event: "message_delta",
  json: { type: "message_delta", delta: {}, usage: { input_tokens: 10, output_tokens: 200 } },
});
/** A request with this header is answered by a stream that goes on. */
const SLOW = "x-bench-slow";
/** How far apart its events are, at least; each stream has another pace. */
const SLOW_MS = 50;

/** A provider that begins to answer at once. */
async function serve(): Promise<string> {
  const server = await LoopbackServer.listen();
  let streams = 0;
  server.serve((request, response) => {
    request.resume();
    request.once("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (request.headers[SLOW]) {
        response.write(DELTA);
        streams += 1;
        const timer = setInterval(() => response.write(DELTA), SLOW_MS + (streams % SLOW_MS));
        response.once("close", () => clearInterval(timer));
        return;
      }
      for (let event = 0; event < EVENTS; event += 1) response.write(DELTA);
      response.end(USAGE);
    });
  });
  return server.url;
}

let open: readonly http.ClientRequest[] = [];

async function obey(order: StreamOrder): Promise<void> {
  if (order === "close") {
    for (const request of open) request.on("error", () => undefined).destroy();
    return;
  }
  const headers = { [SLOW]: "1", "x-api-key": order.token, "content-type": "application/json" };
  open = Array.from({ length: order.count }, () =>
    http.request(`${order.url}/v1/messages`, { method: "POST", headers, agent: false }),
  );
  await Promise.all(
    open.map(async (request) => {
      request.end(BODY);
      const [response] = await once(request, "response");
      response.on("error", () => undefined);
      await once(response, "data");
      response.resume();
    }),
  );
}

/** The provider, and the clients of streams that go on, in a thread of their own. */
if (parentPort) {
  const port = parentPort;
  port.on("message", (order: StreamOrder) => void obey(order).then(() => port.postMessage("done")));
  port.postMessage(await serve());
}
