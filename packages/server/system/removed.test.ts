import { expect, test } from "vitest";
import { ask } from "./fixtures/ask.ts";
import { harnessForAll, Served } from "./fixtures/home.ts";

const harness = harnessForAll();

const GONE = {
  type: "urn:reins:problem:gone",
  title: "Gone",
  status: 410,
  detail: "v1 API removed; use /v1",
  code: "gone",
};

const REMOVED: readonly [method: string, path: string][] = [
  ["POST", "/v1/sessions/s1"],
  ["POST", "/v1/sessions/s1/messages"],
  ["POST", "/v1/sessions/s1/messages/stream"],
  ["POST", "/v1/sessions/s1/terminate"],
  ["GET", "/v1/sessions/s1/events"],
  ["GET", "/v1/sessions/s1/events/sse"],
  ["POST", "/v1/sessions/s1/permissions/p1/reply"],
  ["POST", "/v1/sessions/s1/questions/q1/reply"],
  ["POST", "/v1/sessions/s1/questions/q1/reject"],
  ["GET", "/v1/agents/claude/models"],
  ["GET", "/v1/agents/claude/modes"],
];

test.each(REMOVED)("%s %s responds with 410 to any request", async (method, path) => {
  const served = await Served.open(harness());
  const bodies = method === "GET" ? [undefined] : [undefined, {}, "not json", "x".repeat(2_000_000)];
  for (const body of bodies) {
    const answer = await served.ask(method, path, { body });
    expect([answer.status, answer.headers["content-type"], answer.body]).toEqual([
      410,
      "application/problem+json",
      GONE,
    ]);
  }
  const odd = await served.ask(method, `${path}?x=1`, { headers: { "content-type": "text/plain" } });
  expect(odd.body).toEqual(GONE);
  expect((await ask(served.address, method, path)).status).toBe(401);
});

test("other methods of removed paths respond with 404 or 405", async () => {
  const served = await Served.open(harness());
  expect((await served.ask("GET", "/v1/sessions/s1/messages")).status).toBe(404);
  expect((await served.ask("DELETE", "/v1/agents/claude/models")).status).toBe(404);
});
