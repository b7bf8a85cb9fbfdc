import { once } from "node:events";
import { connect } from "node:net";
import { Problem } from "@reins/api";
import { describe, expect, onTestFinished, test } from "vitest";
import { ask } from "./fixtures/ask.ts";
import { harnessForAll, Served } from "./fixtures/home.ts";

const harness = harnessForAll();

/** What comes back for bytes that may not even be HTTP. */
async function raw(address: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  let text = "";
  socket.setEncoding("utf8");
  socket.on("data", (piece: string) => {
    text += piece;
  });
  socket.write(bytes);
  await once(socket, "close");
  return text;
}

/** The problem in an answer that was read as bytes. */
function problemIn(text: string): Problem {
  expect(text).toContain("content-type: application/problem+json\r\n");
  return Problem.parse(JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4)));
}

describe("a problem response", () => {
  const json = { "content-type": "application/json" };
  const cases: readonly [
    string,
    string,
    string,
    Record<string, string>,
    string | Buffer | undefined,
    number,
  ][] = [
    ["an unknown path", "GET", "/v1/nowhere", {}, undefined, 404],
    ["a malformed path", "GET", "/%zz", {}, undefined, 400],
    ["a method that the path does not have", "DELETE", "/v1/approvals", {}, undefined, 405],
    ["an unknown method", "PROPFIND", "/v1/approvals", {}, undefined, 405],
    ["a name that is too long", "GET", `/v1/approvals/${"x".repeat(1_025)}`, {}, undefined, 414],
    ["an unknown query parameter", "GET", "/v1/approvals?color=red", {}, undefined, 400],
    ["a repeated query parameter", "GET", "/v1/approvals?state=pending&state=used", {}, undefined, 400],
    ["no body", "POST", "/v1/approvals/x/answer", {}, undefined, 400],
    ["an empty body", "POST", "/v1/approvals/x/answer", json, undefined, 400],
    ["a body that is not JSON", "POST", "/v1/approvals/x/answer", json, "{", 400],
    [
      "a body that is not UTF-8",
      "POST",
      "/v1/approvals/x/answer",
      json,
      Buffer.from([0x22, 0xc3, 0x22]),
      400,
    ],
    [
      "a body that names a member twice",
      "POST",
      "/v1/roster",
      json,
      '{"session_id":"a","session_id":"b"}',
      400,
    ],
    ["a body nested too deeply", "POST", "/v1/roster", json, "[".repeat(10_000), 400],
    ["half a surrogate pair", "POST", "/v1/roster", json, '{"session_id":"\\ud800"}', 400],
    ["a body of another media type", "POST", "/v1/roster", { "content-type": "text/plain" }, "hi", 415],
    ["a body of an invalid media type", "POST", "/v1/roster", { "content-type": ";;" }, "hi", 415],
    ["a body that is too large", "POST", "/v1/roster", json, " ".repeat(20_000), 413],
    ["a GET of /ahp", "GET", "/ahp", {}, undefined, 405],
    ["an AHP message of another media type", "POST", "/ahp", { "content-type": "text/plain" }, "hi", 415],
  ];

  test.each(cases)("is the answer to %s", async (_, method, path, headers, body, status) => {
    const served = await Served.open(harness(), { limits: { maxBodyBytes: 10_000 } });
    const answer = await served.ask(method, path, { headers, body });
    expect(answer.status).toBe(status);
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(Problem.parse(answer.body)).toMatchObject({ status, detail: expect.stringMatching(/.{5}/) });
    if (status === 405) expect(answer.headers.allow).toMatch(/POST|GET/);
    expect(answer.text).not.toMatch(/node_modules|\.ts|\.js\b|FST_/);
  });

  test("is the answer to a body that is too large and has no content-length", async () => {
    const served = await Served.open(harness(), { limits: { maxBodyBytes: 10_000 } });
    const headers = { "transfer-encoding": "chunked" };
    const answer = await served.ask("POST", "/v1/roster", { headers, body: " ".repeat(100_000) });
    expect(answer).toMatchObject({ status: 413, body: { code: "too_large" } });
  });

  test("is the answer to invalid HTTP and to headers that are too large", async () => {
    const { address } = await Served.open(harness());
    expect(problemIn(await raw(address, "hello\r\n\r\n"))).toMatchObject({ status: 400 });
    expect(problemIn(await raw(address, "GET / HTTP/1.1\r\nconnection: close\r\n\r\n"))).toMatchObject({
      status: 400,
    });
    const tunnel = "CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\n";
    expect(problemIn(await raw(address, tunnel))).toMatchObject({ status: 405 });
    const large = `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${"x".repeat(20_000)}\r\n\r\n`;
    expect(problemIn(await raw(address, large))).toMatchObject({ status: 431, code: "headers_too_large" });
  });

  test("is the answer to a request that does not arrive in time", async () => {
    const { address } = await Served.open(harness(), {
      limits: { headersTimeoutMs: 100, requestTimeoutMs: 100 },
    });
    expect(problemIn(await raw(address, "GET / HTTP/1.1\r\nhost:"))).toMatchObject({
      status: 408,
      code: "timeout",
    });
  });

  test("is the answer to a rejected upgrade", async () => {
    const { address } = await Served.open(harness());
    const head =
      "host: localhost\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==";
    const upgrade = (path: string) =>
      raw(address, `GET ${path} HTTP/1.1\r\n${head}\r\nupgrade: websocket\r\n\r\n`);
    expect(problemIn(await upgrade("/ahp"))).toMatchObject({ status: 401 });
    expect(problemIn(await upgrade("/ahp?token=guess"))).toMatchObject({ status: 401 });
  });

  test("is not the answer to h2c upgrades and Expect headers, which are ignored", async () => {
    const { address } = await Served.open(harness());
    expect((await ask(address, "GET", "/v1/health", { headers: { expect: "200-maybe" } })).status).toBe(200);
    const headers = {
      connection: "Upgrade, HTTP2-Settings",
      upgrade: "h2c",
      "http2-settings": "AAMAAABkAAQAAP__",
    };
    expect((await ask(address, "GET", "/v1/health", { headers })).status).toBe(200);
  });
});

describe("an internal error", () => {
  test("is logged; the client gets a 500 without details", async () => {
    const told: unknown[] = [];
    const quiet = () => undefined;
    const log = { debug: quiet, info: quiet, warn: quiet, error: (fields: object) => void told.push(fields) };
    const broken = new Proxy(harness(), {
      get: (target, name) => {
        if (name === "runs") throw new Error("broken at /home/ann/secret.ts");
        return Reflect.get(target, name);
      },
    });
    const served = await Served.open(harness(), { log, harness: async () => broken });
    const answer = await served.ask("GET", "/v1/runs");
    expect(answer).toMatchObject({ status: 500, body: { code: "internal" } });
    expect(answer.text).not.toMatch(/broken|home|secret/);
    expect(told).toEqual([expect.objectContaining({ path: "/v1/runs", err: expect.any(Error) })]);
  });

  test("that keeps the harness from opening is reported to authenticated clients and by the health check", async () => {
    const open = () => Promise.reject(new Error("another Reins runs on this home"));
    const served = await Served.open(harness(), { harness: open });
    expect(await served.ask("GET", "/v1/approvals")).toMatchObject({
      status: 503,
      body: { code: "unavailable", detail: "another Reins runs on this home" },
    });
    const outsider = await served.ask("GET", "/v1/approvals", { as: `reins_${"x".repeat(43)}` });
    expect(outsider.status).toBe(503);
    expect(outsider.text).not.toContain("another Reins");
    expect((await ask(served.address, "GET", "/v1/health")).body).toMatchObject({ status: "failed" });
  });

  test("is not reported while the harness is opening: requests wait, up to a timeout", async () => {
    const opening = Promise.withResolvers<ReturnType<typeof harness>>();
    const served = await Served.open(harness(), { harness: () => opening.promise });
    expect((await ask(served.address, "GET", "/v1/health")).body).toMatchObject({ status: "starting" });
    const waiting = served.ask("GET", "/v1/approvals?session=none");
    opening.resolve(harness());
    expect(await waiting).toMatchObject({ status: 200, body: { approvals: [] } });
    const never = await Served.open(harness(), {
      harness: () => new Promise(() => undefined),
      limits: { answerTimeoutMs: 50 },
    });
    expect(await never.ask("GET", "/v1/approvals")).toMatchObject({
      status: 503,
      body: { code: "unavailable" },
    });
  });
});
