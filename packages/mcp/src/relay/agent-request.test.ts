import { ManualClock } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import { type Message, objectIn } from "../message.ts";
import { AgentRequest } from "./agent-request.ts";

const EVERY = 15_000;

function waiting(progressToken?: unknown) {
  const clock = new ManualClock();
  const sent: Message[] = [];
  const params = { name: "tool", ...(progressToken !== undefined && { _meta: { progressToken } }) };
  const request = new AgentRequest(
    { jsonrpc: "2.0", id: "a", method: "tools/call", params },
    { send: (message) => sent.push(message), done: () => undefined },
  );
  request.keepAlive(clock, EVERY);
  return {
    clock,
    request,
    sent,
    progress: () => sent.map((message) => objectIn(message, "params")?.progress),
  };
}

const asked = { id: 7, answer: Promise.withResolvers<never>().promise, cancel: () => undefined };

test.each([0, "token"])(
  "a request with the token %j reports progress while it waits for a verdict",
  (token) => {
    const { clock, sent, progress } = waiting(token);
    clock.advance(EVERY - 1);
    expect(sent).toEqual([]);
    for (let times = 0; times < 3; times += 1) clock.advance(EVERY);
    expect(sent[0]).toMatchObject({
      method: "notifications/progress",
      params: { progressToken: token, message: "waiting for a verdict" },
    });
    // Each is larger than the one before, and all are smaller than what a server would say.
    const values = progress().map(Number);
    expect(values).toHaveLength(3);
    expect(values).toEqual(values.toSorted((one, other) => one - other));
    expect(new Set(values).size).toBe(3);
    expect(Math.max(...values)).toBeLessThan(0.001);
  },
);

test("a request without a token reports nothing", () => {
  const { clock, sent } = waiting();
  clock.advance(EVERY * 10);
  expect(sent).toEqual([]);
});

test.each([
  ["is passed on", (request: AgentRequest) => request.passedOn(asked), 0],
  ["is answered", (request: AgentRequest) => request.answer({ jsonrpc: "2.0", result: {} }), 1],
  ["is cancelled", (request: AgentRequest) => request.cancel(), 0],
] as const)("a request that %s reports no more", (_, end, more) => {
  const { clock, request, sent } = waiting("token");
  clock.advance(EVERY);
  end(request);
  clock.advance(EVERY * 10);
  expect(sent).toHaveLength(1 + more);
});
