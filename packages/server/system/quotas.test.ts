import { readdir, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { tarOf } from "../../kit/test/tar.ts";
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

test("requests that are under way are within the quotas of a principal and of its tenant", async () => {
  const quotas = { principal: { open_requests: 2 }, tenant: { open_requests: 3 } };
  const served = await Served.open(harness(), { quotas });
  const [ann, ben] = [await served.person({ tenant: "slow" }), await served.person({ tenant: "slow" })];
  const other = await served.person();
  /** A request whose body does not come whole. */
  const begun = (as: string) => {
    const headers = { authorization: `Bearer ${as}`, "content-type": "application/json" };
    const sent = request(`${served.address}/v1/logout`, {
      ...{ method: "POST", headers: { ...headers, "content-length": 100 }, agent: false },
    });
    sent.on("error", () => undefined).write("{");
    onTestFinished(() => void sent.destroy());
    return sent;
  };
  const status = async (as: string) => (await served.ask("GET", SELF, { as })).status;
  const slow = [begun(ann.secret), begun(ann.secret)];
  await expect.poll(() => status(ann.secret)).toBe(429);
  expect(await served.ask("GET", SELF, { as: ann.secret })).toMatchObject({
    headers: { "content-type": "application/problem+json", "retry-after": "10" },
    body: { detail: expect.stringContaining("2 of 2 open_requests") },
  });
  expect(await status(ben.secret)).toBe(200);
  begun(ben.secret);
  await expect.poll(() => status(ben.secret)).toBe(429);
  expect([await status(other.secret), await status(served.access.token)]).toEqual([200, 200]);
  for (const sent of slow) sent.destroy();
  await expect.poll(() => status(ann.secret)).toBe(200);
  expect(await status(ben.secret)).toBe(200);
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

describe("the files of a tenant", () => {
  test("are bounded together, by size and by number, and what is refused leaves nothing", async () => {
    const home = await openAgentHome({
      rules: "tool_rules: [{ name: all, condition: {}, verdict: allowed }]",
      quotas: { tenant: { file_bytes: 200_000 } },
    });
    onTestFinished(home.close);
    const served = await serveAgents(home);
    const [ann, ben] = [await served.person(), await served.person()];
    const put = async (name: string, bytes: number, as?: string, length = true) => {
      const content = Buffer.alloc(bytes, "x");
      const headers = { authorization: `Bearer ${as ?? served.access.token}` };
      const body = length ? content : new Blob([content]).stream();
      const init = { method: "PUT", headers, body, duplex: "half" as const };
      return fetch(`${served.address}/v1/fs/file?path=${name}`, init);
    };
    expect((await put("one", 100_000, ann.secret)).status).toBe(200);
    for (const length of [true, false]) {
      const refused = await put("two", 120_000, ben.secret, length);
      expect([refused.status, refused.headers.get("content-type")]).toEqual([
        429,
        "application/problem+json",
      ]);
      expect(Object(await refused.json()).detail).toContain("file_bytes");
    }
    expect(await readdir(home.workspace)).toEqual(["one"]);
    // What was refused gave its room back; empty files and folders take some.
    expect((await put("two", 50_000, ben.secret)).status).toBe(200);
    const many = Array.from({ length: 40 }, (_, count) => ({ name: `empty-${count}/` }));
    const upload = await served.ask("POST", "/v1/fs/upload-batch?path=many", {
      ...{ as: ann.secret, headers: { "content-type": "application/x-tar" }, body: tarOf(...many) },
    });
    expect(upload.status).toBe(429);
    expect(await readdir(join(home.workspace, "many"))).toEqual([]);
    const deep = `a/${"b/".repeat(60)}c`;
    const made = await served.ask("POST", `/v1/fs/mkdir?path=${deep}`, { as: ben.secret });
    expect(made.status).toBe(429);
    expect(await readdir(home.workspace)).not.toContain("a");
    expect((await put("large", 500_000)).status).toBe(200);
  });

  test("are the subject of so many requests of its principals together", async () => {
    const home = await openAgentHome({
      rules:
        "tool_rules: [{ name: made, condition: { tool_name_matches: [fs/mkdir] }, verdict: ask }, { name: all, condition: {}, verdict: allowed }]",
      quotas: { tenant: { file_requests: 2 } },
    });
    onTestFinished(home.close);
    const served = await serveAgents(home);
    const [ann, ben] = [await served.person(), await served.person()];
    const waiting = [ann, ben].map(({ secret: as }, index) =>
      served.ask("POST", `/v1/fs/mkdir?path=made-${index}`, { as }),
    );
    const pending = async () =>
      Object((await served.ask("GET", "/v1/approvals?state=pending")).body).approvals;
    await expect.poll(async () => (await pending()).length).toBe(2);
    const refused = await served.ask("GET", "/v1/fs/entries", { as: ann.secret });
    expect([refused.status, Object(refused.body).detail]).toEqual([
      429,
      expect.stringContaining("2 of 2 file_requests"),
    ]);
    for (const { id } of await pending())
      await served.ask("POST", `/v1/approvals/${id}/answer`, { body: { decision: "deny" } });
    await Promise.all(waiting);
    expect((await served.ask("GET", "/v1/fs/entries", { as: ann.secret })).status).toBe(200);
  });

  test("that has no room left get no command started and no file written, and can still move and remove theirs", async () => {
    const home = await openAgentHome({
      rules: "tool_rules: [{ name: all, condition: {}, verdict: allowed }]",
      quotas: { tenants: { default: { file_bytes: 1 } } },
    });
    onTestFinished(home.close);
    await writeFile(join(home.workspace, "full"), "x");
    const served = await serveAgents(home);
    const { secret: as } = await served.person();
    const run = await served.ask("POST", "/v1/processes/run", { as, body: { command: "true" } });
    expect([run.status, Object(run.body).detail]).toEqual([429, expect.stringContaining("file_bytes")]);
    const content = Buffer.from("x").toString("base64");
    const client = await RpcClient.open(served, { as });
    const { body } = await client.request("_sandboxagent/fs/write_file", {
      path: "new",
      contentBase64: content,
    });
    expect(Object(body).error).toMatchObject({ code: -32_029 });
    expect(await readdir(home.workspace)).toEqual(["full"]);
    const moved = await served.ask("POST", "/v1/fs/move", { as, body: { from: "full", to: "moved" } });
    expect(moved.status).toBe(200);
    expect((await served.ask("DELETE", "/v1/fs/file?path=moved", { as })).status).toBe(200);
  });
});
