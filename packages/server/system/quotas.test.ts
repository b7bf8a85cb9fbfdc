import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { openAgentHome } from "./fixtures/agent-home.ts";
import { serveAgents } from "./fixtures/agents.ts";
import { begin } from "./fixtures/ask.ts";
import { Events } from "./fixtures/events.ts";
import { harnessForAll, Served } from "./fixtures/home.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const harness = harnessForAll();
const SELF = "/v1/whoami";

describe("the requests of a principal", () => {
  test("beyond its quota get 429 with what is left and when to come back", async () => {
    const served = await Served.open(harness(), { quotas: { principal: { requests: 3 } } });
    const { secret } = await served.person();
    const first = await served.ask("GET", SELF, { as: secret });
    expect(first).toMatchObject({
      status: 200,
      headers: {
        "ratelimit-policy": '"requests";q=3;w=60',
        ratelimit: expect.stringMatching(/^"requests";r=2;t=\d+$/),
      },
    });
    for (const left of [1, 0])
      expect((await served.ask("GET", SELF, { as: secret })).headers.ratelimit).toContain(`r=${left};`);
    const refused = await served.ask("GET", SELF, { as: secret });
    expect(refused).toMatchObject({
      status: 429,
      headers: { "content-type": "application/problem+json", ratelimit: expect.stringContaining("r=0;") },
      body: { code: "too_many_requests", detail: expect.stringContaining("3 requests") },
    });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    // A path that is not there costs the same, and the operator has no quota.
    expect((await served.ask("GET", "/v1/nothing", { as: secret })).status).toBe(429);
    for (let n = 0; n < 10; n += 1) expect((await served.ask("GET", SELF)).headers.ratelimit).toBeUndefined();
  });

  test("of a tenant that floods the server do not delay those of another", async () => {
    const quota = 40;
    const served = await Served.open(harness(), { quotas: { tenant: { requests: quota } } });
    const flooding = await Promise.all([1, 2, 3, 4].map(() => served.person({ tenant: "flood" })));
    const { secret } = await served.person({ tenant: "calm" });
    const counts = { passed: 0, refused: 0 };
    let isOver = false;
    const flood = flooding.flatMap((person) =>
      Array.from({ length: 5 }, async () => {
        while (!isOver) {
          const { status } = await served.ask("GET", SELF, { as: person.secret });
          counts[status === 200 ? "passed" : "refused"] += 1;
          expect([200, 429]).toContain(status);
        }
      }),
    );
    await expect.poll(() => counts.refused, { timeout: 60_000 }).toBeGreaterThan(40);
    /** How many requests of the flood were served, and how many answered at all, while one of the other waited. */
    const between: { served: number; answered: number }[] = [];
    for (let n = 0; n < 15; n += 1) {
      const before = { ...counts };
      expect((await served.ask("GET", SELF, { as: secret })).status).toBe(200);
      const passed = counts.passed - before.passed;
      between.push({ served: passed, answered: passed + counts.refused - before.refused });
    }
    isOver = true;
    await Promise.all(flood);
    const median = (of: "served" | "answered") => between.map((each) => each[of]).sort((a, b) => a - b)[7];
    // All that a flood of twenty can do is to be answered about once each, and almost always with a refusal.
    expect(median("served")).toBeLessThanOrEqual(2);
    expect(median("answered")).toBeLessThanOrEqual(60);
    expect(counts.refused).toBeGreaterThan(counts.passed);
  });
});

describe("the streams of a principal", () => {
  test("are bounded, and free again when one ends", async () => {
    const served = await Served.open(harness(), { quotas: { principal: { streams: 2 } } });
    const { secret } = await served.person();
    const other = await served.person();
    const first = await Events.open(served, {}, secret);
    await first.next();
    await (await Events.open(served, {}, secret)).next();
    const path = "/v1/approvals/stream";
    expect(await served.ask("GET", path, { as: secret })).toMatchObject({
      status: 429,
      headers: { "retry-after": "10", "content-type": "application/problem+json" },
    });
    const status = await new Promise((resolve) => {
      const socket = new WebSocket(`${served.address.replace("http", "ws")}/ahp`, {
        headers: { authorization: `Bearer ${secret}` },
      });
      socket.on("unexpected-response", (_, response) => {
        resolve(response.statusCode);
        response.destroy();
      });
      socket.on("error", () => undefined);
    });
    expect(status).toBe(429);
    await (await Events.open(served, {}, other.secret)).next();
    first.response.destroy();
    const again = async () => {
      const headers = { authorization: `Bearer ${secret}` };
      const { sent, response } = await begin(served.address, "GET", path, { headers });
      onTestFinished(() => void sent.destroy());
      sent.on("error", () => undefined);
      if (response.statusCode !== 200) sent.destroy();
      return response.statusCode;
    };
    await expect.poll(again).toBe(200);
  });
});

describe("the sessions of a principal", () => {
  test("are bounded in number, by prompts and by what their tenant stores, whatever the protocol", async () => {
    const home = await openAgentHome({
      quotas: { principal: { sessions: 2, prompts: 2 }, tenants: { full: { stored_bytes: 0 } } },
    });
    onTestFinished(home.close);
    const served = await serveAgents(home);
    const { workspace: cwd } = home;
    const ann = await RpcClient.open(served, { as: (await served.person()).secret });
    const ask = async (method: string, params: Record<string, unknown>) =>
      (await ann.request(method, params)).body;
    const sessions = [await ann.begin(cwd), await ann.begin(cwd)];
    expect(await ask("session/new", { cwd, mcpServers: [] })).toMatchObject({
      error: {
        code: -32_029,
        message: expect.stringContaining("2 of 2 sessions"),
        data: { quota: "sessions" },
      },
    });
    const prompt = { sessionId: sessions[0], prompt: [{ type: "text", text: "hello" }] };
    for (let n = 0; n < 2; n += 1) expect(await ask("session/prompt", prompt)).toHaveProperty("result");
    expect(await ask("session/prompt", prompt)).toMatchObject({
      error: { code: -32_029, data: { quota: "prompts", retry_after_ms: expect.any(Number) } },
    });
    const ben = await RpcClient.open(served, { as: (await served.person()).secret });
    expect(await ben.begin(cwd)).toEqual(expect.any(String));
    const full = await RpcClient.open(served, { as: (await served.person({ tenant: "full" })).secret });
    expect((await full.request("session/new", { cwd, mcpServers: [] })).body).toMatchObject({
      error: { code: -32_029, data: { quota: "stored_bytes" } },
    });
  });
});
