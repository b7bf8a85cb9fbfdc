import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { LOCAL } from "../src/index.ts";
import { ask } from "./fixtures/ask.ts";
import { harnessForAll, Served } from "./fixtures/home.ts";

const harness = harnessForAll();
const PROBLEM = "application/problem+json";

/** What a WebSocket gets: that it is open, or the status that it was refused with. */
async function upgrade(
  address: string,
  path: string,
  headers: Record<string, string> = {},
  protocols: string[] = [],
) {
  const webSocket = new WebSocket(address.replace("http", "ws") + path, protocols, { headers });
  onTestFinished(() => webSocket.terminate());
  return new Promise<"open" | number>((resolve) => {
    webSocket.once("open", () => resolve("open"));
    webSocket.once("unexpected-response", (_, response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    webSocket.on("error", () => undefined);
  });
}

describe("authentication", () => {
  test("accepts a valid token on a port, and rejects everything else with 401", async () => {
    const served = await Served.open(harness());
    const { secret } = await served.person();
    const gone = await served.person();
    await served.harness.identity.revokeToken(gone.id);
    const { token } = served.access;
    const cases: readonly [string, Record<string, string>, number][] = [
      ["nothing", {}, 401],
      ["the start token", { authorization: `Bearer ${token}` }, 200],
      ["the start token as an API key", { "x-api-key": token }, 200],
      ["a user's token", { authorization: `bearer ${secret}` }, 200],
      ["a user's token as an API key", { "x-api-key": secret }, 200],
      ["a token that was revoked", { authorization: `Bearer ${gone.secret}` }, 401],
      ["a token that never was", { authorization: `Bearer ${token.slice(0, -1)}` }, 401],
      ["no token", { authorization: "Bearer " }, 401],
      ["a password", { authorization: "Basic YTpi" }, 401],
      ["a cookie that never was", { cookie: `${served.access.cookie}=guess` }, 401],
    ];
    for (const [shown, headers, status] of cases) {
      const answer = await ask(served.address, "GET", "/v1/approvals", { headers });
      expect([shown, answer.status]).toEqual([shown, status]);
      if (status === 200) continue;
      expect(answer.headers["content-type"]).toBe(PROBLEM);
      expect(answer.headers["www-authenticate"]).toBe("Bearer");
    }
  });

  test("is required on every path but health and login, also on unknown ones", async () => {
    const { address } = await Served.open(harness());
    for (const path of ["/", "/v1/nothing", "/openapi.json", "/ahp", "/opencode/x", "/v1/approvals/stream"])
      expect([path, (await ask(address, "GET", path)).status]).toEqual([path, 401]);
    expect((await ask(address, "GET", "/v1/health")).body).toEqual({ status: "ok", version: "1.2.3" });
  });

  test("treats clients of the private socket as the operator, without a token", async () => {
    const served = await Served.open(harness());
    const socketPath = join(served.harness.home, "reins.sock");
    const { address } = await served.gateway.listenSocket(socketPath);
    expect(address).toBe(socketPath);
    expect((await stat(socketPath)).mode & 0o777).toBe(0o600);
    const answer = await ask("", "GET", "/v1/identity/tenants", { socketPath });
    expect(answer.body).toEqual({ tenants: [expect.objectContaining({ id: "default" })] });
    // No browser comes this way, so any name will do.
    const headers = { host: "whatever.example", origin: "https://whatever.example" };
    expect((await ask("", "GET", "/v1/policy", { socketPath, headers })).status).toBe(200);
  });

  test("treats injected requests as the operator", async () => {
    const served = await Served.open(harness());
    expect(served.harness.identity.local().id).toBe(LOCAL);
    expect(await served.harness.identity.current({ id: LOCAL })).toMatchObject({ user: "operator" });
    const { gateway } = served;
    const send = async (method: "GET" | "POST" | "DELETE", path: string, value?: object) => {
      const content = { headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
      const answer = await gateway.fetch(`http://localhost${path}`, { method, ...(value && content) });
      const text = await answer.text();
      return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
    };
    expect(await send("GET", "/v1/identity/tenants")).toMatchObject({
      status: 200,
      body: { tenants: [{ id: "default" }] },
    });
    const user = { id: "eve", name: "Eve", email: "eve@example.com", roles: [], scopes: [] };
    const added = await send("POST", "/v1/identity/users", user);
    expect(added).toMatchObject({ status: 201, body: { id: "eve", tenant: "default" } });
    const removed = await send("DELETE", "/v1/identity/users/eve");
    expect(removed).toMatchObject({ status: 204, body: undefined });
    const stream = await send("GET", "/v1/approvals/stream");
    expect(stream).toMatchObject({ status: 406, body: { code: "not_acceptable" } });
  });

  test("accepts the token of a WebSocket in a header, a subprotocol or the query", async () => {
    const served = await Served.open(harness());
    const { token, cookie } = served.access;
    const { secret } = await served.person();
    const bearer = (value: string) => ({ authorization: `Bearer ${value}` });
    const inProtocol = `ahp.bearer.${Buffer.from(secret).toString("base64url")}`;
    const login = await served.access.login(served.access.newCode());
    const held = { cookie: `${cookie}=${login?.id}` };
    const { address } = served;
    expect(await upgrade(address, "/ahp")).toBe(401);
    expect(await upgrade(address, "/ahp", bearer(token))).toBe("open");
    expect(await upgrade(address, "/ahp", bearer("guess"))).toBe(401);
    expect(await upgrade(address, `/ahp?token=${secret}`)).toBe("open");
    expect(await upgrade(address, "/ahp", {}, ["ahp", inProtocol])).toBe("open");
    expect(await upgrade(address, "/ahp", held)).toBe(403);
    expect(await upgrade(address, "/ahp", { ...held, origin: address })).toBe("open");
    expect(await upgrade(address, "/ahp", { ...held, origin: "http://127.0.0.1:1" })).toBe(403);
    expect(await upgrade(address, "/elsewhere", bearer(token))).toBe(404);
    expect(await upgrade(address, "/ahp", { ...bearer(token), host: "evil.example" })).toBe(403);
  });
});

describe("wrong tokens", () => {
  test("get 429 beyond the limit, while a right token still passes", async () => {
    const served = await Served.open(harness(), { limits: { failures: 3, failureMs: 60_000 } });
    const guess = () => served.ask("GET", "/v1/policy", { as: "reins_guess" });
    expect((await Promise.all([guess(), guess(), guess()])).map(({ status }) => status)).toEqual([
      401, 401, 401,
    ]);
    const refused = await guess();
    expect(refused).toMatchObject({ status: 429, body: { code: "too_many_requests" } });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect((await served.ask("GET", "/v1/policy")).status).toBe(200);
    const { secret } = await served.person();
    expect((await served.ask("GET", "/v1/policy", { as: secret })).status).toBe(200);
    // Codes are guessed at from the same purse, and the right one still works.
    const login = (code: string) => ask(served.address, "POST", "/v1/login", { body: { code } });
    expect((await login("guess")).status).toBe(429);
    expect((await login(served.access.newCode())).status).toBe(200);
    // Who shows nothing guesses nothing.
    expect((await ask(served.address, "GET", "/v1/policy")).status).toBe(401);
  });

  test("are logged without their queries", async () => {
    const lines: string[] = [];
    const note = (...said: unknown[]) => void lines.push(JSON.stringify(said));
    const served = await Served.open(harness(), {
      log: { debug: note, info: note, warn: note, error: note },
    });
    await served.ask("GET", "/v1/policy?secret=hunter2", { as: "reins_wrong" });
    await served.ask("GET", "/v1/policy?secret=hunter2");
    await upgrade(served.address, "/ahp?token=hunter2");
    expect(lines.join()).toContain("/v1/policy");
    expect(lines.join()).not.toMatch(/hunter2|reins_wrong/);
    expect(lines.join()).not.toContain(served.access.token);
  });
});

describe("a browser", () => {
  async function loggedIn(served: Served) {
    const answer = await ask(served.address, "POST", "/v1/login", {
      body: { code: served.access.newCode() },
    });
    expect(answer.status).toBe(200);
    const [set = ""] = answer.headers["set-cookie"] ?? [];
    expect(set).toMatch(/; HttpOnly; SameSite=Strict$/);
    const cookie = set.split(";")[0] ?? "";
    return (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
      ask(served.address, method, path, { headers: { cookie, ...headers }, body });
  }

  test("logs in with a code, acts as the operator, and logs out", async () => {
    const served = await Served.open(harness());
    const page = await loggedIn(served);
    const own = { origin: served.address };
    expect((await page("GET", "/v1/identity/users")).status).toBe(200);
    expect((await page("POST", "/v1/policy/reload", own)).status).toBe(200);
    const out = await page("POST", "/v1/logout", own);
    expect(out.status).toBe(204);
    expect(out.headers["set-cookie"]?.[0]).toContain("Expires=Thu, 01 Jan 1970");
    expect((await page("GET", "/v1/identity/users")).body).toMatchObject({ status: 401 });
  });

  test("stays logged in after a restart, and the start token stays valid", async () => {
    const first = await Served.open(harness());
    const login = await first.access.login(first.access.newCode());
    await first.gateway.close();
    const again = await Served.open(harness());
    const cookie = `${again.access.cookie}=${login?.id}`;
    expect((await ask(again.address, "GET", "/v1/policy", { headers: { cookie } })).status).toBe(200);
    expect((await again.ask("GET", "/v1/policy", { as: first.access.token })).status).toBe(200);
  });

  test("cannot change anything from a page of another origin", async () => {
    const served = await Served.open(harness());
    const page = await loggedIn(served);
    const change = (headers: Record<string, string>) => page("POST", "/v1/policy/reload", headers);
    expect((await change({})).body).toMatchObject({ status: 403 });
    expect((await change({ origin: "http://127.0.0.1:3000" })).body).toMatchObject({ status: 403 });
    expect((await change({ "sec-fetch-site": "same-site" })).body).toMatchObject({ status: 403 });
    expect((await change({ "sec-fetch-site": "same-origin" })).status).toBe(200);
    expect((await page("GET", "/v1/policy", { "sec-fetch-site": "cross-site" })).status).toBe(403);
  });

  test("gets the security headers with every response, also with errors", async () => {
    const served = await Served.open(harness());
    const answers = [
      await served.ask("GET", "/v1/policy"),
      await served.ask("GET", "/nothing"),
      await served.ask("GET", "/%zz"),
      await served.ask("POST", "/ahp", { body: "{}" }),
      await ask(served.address, "GET", "/v1/policy"),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 400, 200, 401]);
    for (const { headers } of answers) {
      expect(headers["content-security-policy"]).toMatch(/^default-src 'self';.* frame-ancestors 'none'/);
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["referrer-policy"]).toBe("no-referrer");
      expect(headers["cache-control"]).toBe("no-store");
    }
  });
});

describe("requests", () => {
  test("for other hosts and from other origins are rejected", async () => {
    const served = await Served.open(harness(), { listen: { allowedHosts: ["reins.example"] } });
    const status = async (headers: Record<string, string>) =>
      (await served.ask("GET", "/v1/policy", { headers })).status;
    expect(await status({ host: "evil.example" })).toBe(403);
    expect(await status({ host: "reins.example" })).toBe(200);
    expect(await status({ host: "reins.example:443", origin: "https://reins.example:443" })).toBe(200);
    expect(await status({ origin: "https://evil.example" })).toBe(403);
    expect(await status({ origin: "null" })).toBe(403);
    const health = await ask(served.address, "GET", "/v1/health", { headers: { host: "evil.example" } });
    expect(health).toMatchObject({ status: 403, headers: { "content-type": PROBLEM } });
  });

  test("get no CORS headers unless the operator allows the origin, and never cookies", async () => {
    const origin = "https://console.example";
    const asking = { origin, "access-control-request-method": "POST" };
    const closed = await Served.open(harness());
    expect((await ask(closed.address, "OPTIONS", "/v1/policy/reload", { headers: asking })).status).toBe(403);
    const open = await Served.open(harness(), { listen: { allowedOrigins: [origin] } });
    const preflight = await ask(open.address, "OPTIONS", "/v1/policy/reload", { headers: asking });
    expect(preflight).toMatchObject({
      status: 204,
      headers: {
        "access-control-allow-origin": origin,
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": expect.stringContaining("authorization"),
      },
    });
    expect(preflight.headers["access-control-allow-credentials"]).toBeUndefined();
    const answer = await open.ask("GET", "/v1/policy", { headers: { origin } });
    expect(answer).toMatchObject({
      status: 200,
      headers: { "access-control-allow-origin": origin, vary: "origin" },
    });
    const refused = await ask(open.address, "GET", "/v1/policy", { headers: { origin } });
    expect(refused).toMatchObject({ status: 401, headers: { "access-control-allow-origin": origin } });
    const other = await open.ask("GET", "/v1/policy", { headers: { origin: "https://other.example" } });
    expect(other.status).toBe(403);
    const login = await open.access.login(open.access.newCode());
    const cookie = `${open.access.cookie}=${login?.id}`;
    expect((await ask(open.address, "GET", "/v1/policy", { headers: { cookie, origin } })).status).toBe(403);
  });
});
