import { setImmediate as nextTurn } from "node:timers/promises";
import { ManualClock } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import { MCP_LIMITS } from "../limits.ts";
import { httpLink } from "./http-link.ts";
import { sseLink } from "./sse-link.ts";

const server = { type: "http", name: "lab", url: "http://lab.test/mcp", headers: [] } as const;
const silent = { message: () => undefined, skipped: () => undefined, lost: () => undefined };

function stream(text: string): Response {
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

function partsWith(fetch: (init: RequestInit) => Response) {
  const clock = new ManualClock();
  const answer = async (_: URL, init: RequestInit) => {
    await nextTurn();
    return fetch(init);
  };
  return {
    server: { ...server, headers: [] },
    fetch: answer,
    hide: String,
    limits: MCP_LIMITS,
    clock,
  };
}

async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
}

test("a server that wants to be asked again at once is asked again after a while", async () => {
  let asked = 0;
  const parts = partsWith(({ method }) => {
    if (method !== "GET") return new Response(null, { status: 202 });
    asked += 1;
    return stream("retry: 0\n\n");
  });
  const link = await httpLink(parts)({ ...silent, closed: () => undefined }, new AbortController().signal);
  link.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  await someTurns();
  expect(asked).toBe(1);
  parts.clock.advanceAndSettle(MCP_LIMITS.firstBackoffMs);
  await someTurns();
  expect(asked).toBe(2);
  await link.close();
});

test("a server that hangs up right after it said where to post to is known to be gone", async () => {
  const losses: string[] = [];
  const parts = partsWith(() => stream("event: endpoint\ndata: /post\n\n"));
  const events = { ...silent, closed: ({ text }: { text: string }) => void losses.push(text) };
  const link = await sseLink(parts)(events, new AbortController().signal);
  await someTurns();
  expect(losses).toEqual(["the MCP server lab is gone: its stream ended"]);
  await link.close();
});
