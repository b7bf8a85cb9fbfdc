import { Agent, type IncomingMessage, request } from "node:http";
import { OBJECTS, Problem } from "@reins/api";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { z } from "zod";
import { agentsForAll } from "./fixtures/agents.ts";
import type { Resolve } from "./fixtures/arbitraries.ts";
import { everyOperation, serveEverything } from "./fixtures/everything.ts";
import type { Served } from "./fixtures/home.ts";
import { Issuer } from "./fixtures/issuer.ts";
import { ownedObjects } from "./fixtures/objects.ts";
import { bent, Description, expectSane, questions } from "./fixtures/questions.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll({
  rules: `tool_rules:
  - { name: ask, condition: { tool_name_matches: [deploy] }, verdict: ask }
  - { name: all, condition: {}, verdict: allowed }
`,
});
const agent = new Agent({ keepAlive: true, maxSockets: 4 });
afterAll(() => agent.destroy());

const UPGRADE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};

/** The status of the answer to an upgrade; one that is refused is a problem. */
async function upgradeStatus(
  address: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const { hostname, port } = new URL(address);
  const signal = AbortSignal.timeout(20_000);
  const sent = request({ hostname, port, path, headers: { ...UPGRADE, ...headers }, signal, agent: false });
  sent.end();
  const answered = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.once("error", reject).once("response", resolve);
    sent.once("upgrade", (response, socket) => {
      socket.destroy();
      resolve(response);
    });
  });
  const { statusCode = 0 } = answered;
  if (statusCode === 101) return statusCode;
  let text = "";
  for await (const part of answered) text += part;
  expect(answered.headers["content-type"], text).toBe("application/problem+json");
  expect(Problem.parse(JSON.parse(text)).status).toBe(statusCode);
  return statusCode;
}

/** The status of the answer to a request that sends one byte of its body and no more. */
async function statusOfStalled(
  address: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const { hostname, port } = new URL(address);
  const signal = AbortSignal.timeout(20_000);
  const sent = request({ hostname, port, method, path, headers, signal, agent: false });
  sent.write("{");
  const answered = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.once("error", reject).once("response", resolve);
  });
  sent.on("error", () => undefined).destroy();
  return answered.statusCode ?? 0;
}

/** How often each operation is asked in each way; a failure is repeated by its seed. */
const RUNS = 40;
const SEED = 20_261_115;
/** A server with everything that there is to ask. */
async function serve(limits: object = {}, onEnd: (end: () => Promise<void>) => void = onTestFinished) {
  const issuer = await Issuer.open((end) => onEnd(async () => end()));
  return serveEverything(home(), { limits, onEnd, oidc: [issuer.settings()] });
}

describe("every operation", () => {
  let served: Served;
  let description: z.output<typeof Description>;
  let people: string[];
  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    served = await serve({}, (end) => ends.push(end));
    description = Description.parse((await served.ask("GET", "/openapi.json")).body);
    people = [
      served.access.token,
      (await served.person({ tenant: "acme", roles: ["admin"] })).secret,
      (await served.person({ kind: "agent" })).secret,
      "reins_nobody",
    ];
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  test("is in the API description, and no other is", () => {
    const described = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    const listed = everyOperation.map(({ method, path }) => `${method.toLowerCase()} ${path}`);
    expect(described.toSorted()).toEqual(listed.toSorted());
  });

  test.each(everyOperation.map(({ id, method, path }) => [id, method.toLowerCase(), path] as const))(
    "%s answers whatever it is asked",
    async (_, method, path) => {
      const { paths, components } = description;
      const resolve: Resolve = (reference) => components.schemas[reference.split("/").at(-1) ?? ""] ?? {};
      const described = paths[path]?.[method];
      if (!described) throw new Error(`${method} ${path} is not described`);
      const statuses = new Set<number>();
      for (const near of [false, true]) {
        const property = fc.asyncProperty(
          questions(method, path, described, resolve, near),
          fc.constantFrom(...people),
          async (question, who) => {
            const headers = { ...question.headers, authorization: `Bearer ${who}` };
            statuses.add(await expectSane(served, { ...question, headers }, agent));
          },
        );
        await fc.assert(property, { numRuns: RUNS, seed: SEED });
      }
      expect(statuses.size).toBeGreaterThan(0);
      expect(Object.keys(described.responses)).toEqual(expect.arrayContaining([...statuses].map(String)));
    },
  );

  test("answers a body that stops arriving as it is described", async () => {
    const limits = { requestTimeoutMs: 200, stallMs: 200, anonymousBodyMs: 200 };
    const slow = await serve({ ...limits, anonymousBodies: 1_000, anonymousBodiesPerAddress: 1_000 });
    const headers = { authorization: `Bearer ${slow.access.token}` };
    await Promise.all(
      everyOperation.map(async ({ method, path, takes }) => {
        const status = await statusOfStalled(slow.address, method, path.replaceAll(/\{\w+\}/g, "x"), {
          ...{ ...headers, "content-type": takes ?? "application/json", "content-length": "10" },
        });
        const answers = description.paths[path]?.[method.toLowerCase()]?.responses ?? {};
        const row = [method, path];
        expect([...row, Object.keys(answers)]).toEqual([
          ...row,
          expect.arrayContaining([String(status), "408"]),
        ]);
        // Nothing reads the body of a GET, and a path of a file that is none is refused before its body is read.
        const isRead = method !== "GET" && !path.startsWith("/v1/fs/");
        expect([...row, status]).toEqual([...row, isRead ? 408 : expect.any(Number)]);
      }),
    );
  });
});

describe("a right request for what exists", () => {
  let served: Served;
  let people: readonly string[];
  let make: Awaited<ReturnType<typeof ownedObjects>>;
  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    served = await serve({}, (end) => ends.push(end));
    const [owner, starter] = [await served.person(), await served.person({ roles: ["admin"] })];
    const foreign = await served.person({ tenant: "acme", roles: ["admin"] });
    people = [owner, starter, foreign, await served.person({ kind: "agent" })].map(({ secret }) => secret);
    make = await ownedObjects(served, home(), { owner, starter });
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  const rows = [...OBJECTS.keys(), "POST /v1/acp/{server} {server}", "DELETE /v1/acp/{server} {server}"];
  test.each(rows)("%s answers however it is bent", async (row) => {
    const [method = ""] = row.split(" ");
    const { path, body, headers = {} } = await make(row);
    const sent = body === undefined || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const type = { ...(body !== undefined && { "content-type": "application/json" }), ...headers };
    const right = { method, path, headers: type, body: typeof body === "string" ? Buffer.from(body) : sent };
    const property = fc.asyncProperty(bent(right), fc.constantFrom(...people), async (question, who) => {
      const authorization = `Bearer ${who}`;
      await expectSane(served, { ...question, headers: { ...question.headers, authorization } }, agent);
    });
    await fc.assert(property, { numRuns: RUNS, seed: SEED });
  });
});

describe("every path", () => {
  test("responds to any method, header and body without a server error", async () => {
    const served = await serve({ maxBodyBytes: 10_000, maxMessageBytes: 10_000 });
    const paths = [
      ...everyOperation.map(({ path }) => path),
      ...[
        "/ahp",
        "/",
        "//",
        "/v1",
        "/v1/",
        "/opencode/x",
        "/v1/sessions/x",
        "/v1/approvals/../policy",
        "/%2e%2e/x",
        "*",
      ],
    ];
    const methods = [
      "GET",
      "HEAD",
      "POST",
      "PUT",
      "PATCH",
      "DELETE",
      "OPTIONS",
      "TRACE",
      "PROPFIND",
      "QUERY",
    ];
    const odd = fc.oneof(
      fc.constantFrom("", "{}", "[]", "null", '"x"', "{", "\u0000", "[".repeat(500), "x".repeat(20_000)),
      fc.string({ maxLength: 100, unit: "binary" }),
      fc.json(),
    );
    const header = fc.constantFrom(
      ["content-type", "application/json"],
      ["content-type", "multipart/form-data"],
      ["accept", "text/html"],
      ["accept-version", "9"],
      ["last-event-id", "nothing"],
      ["cookie", "; =; a=b=c"],
      ["origin", "https://evil.example"],
      ["host", "evil.example"],
      ["x-http-method-override", "DELETE"],
      ["content-encoding", "gzip"],
      ["range", "bytes=0-1"],
      ["if-none-match", "*"],
    );
    const property = fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.constantFrom(...methods),
      fc.array(header, { maxLength: 4 }),
      odd,
      fc.boolean(),
      async (path, method, headers, body, known) => {
        const shown = known ? { authorization: `Bearer ${served.access.token}` } : {};
        const bodyless = method === "GET" || method === "HEAD" || method === "TRACE";
        const question = { method, path, headers: { ...Object.fromEntries(headers), ...shown } };
        await expectSane(served, { ...question, body: bodyless ? undefined : body }, agent);
      },
    );
    await fc.assert(property, { numRuns: 400, seed: SEED });
  });
});

describe("every WebSocket", () => {
  test("answers any upgrade with a connection or a problem", async () => {
    const served = await serve();
    const { body } = await served.ask("POST", "/v1/processes", {
      body: { command: "cat", interactive: true },
    });
    const foreign = await served.person({ tenant: "acme", roles: ["admin"] });
    const ids = [Object(body).id, "", "%", "%ff", "%00", "..%2f..", "x".repeat(5_000), "__proto__", "a%2fb"];
    const paths = [
      ...ids.map((id) => `/v1/processes/${id}/terminal/ws`),
      "/acp",
      "/ahp",
      "/",
      "/ws",
      "/v1/rpc",
      "//",
    ];
    const header = fc.constantFrom(
      ...([
        ["sec-websocket-version", "12"],
        ["sec-websocket-key", "short"],
        ["sec-websocket-protocol", "a, a, \u00e9"],
        ["sec-websocket-extensions", "permessage-deflate; server_max_window_bits=99"],
        ["upgrade", "h2c"],
        ["origin", "https://evil.example"],
        ["content-length", "5"],
        ["cookie", "reins=%ff; ="],
      ] as const),
    );
    const property = fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.array(header, { maxLength: 2 }),
      fc.constantFrom(served.access.token, foreign.secret, "reins_nobody"),
      async (path, more, secret) => {
        const status = await upgradeStatus(served.address, path, {
          authorization: `Bearer ${secret}`,
          ...Object.fromEntries(more),
        });
        expect(status).toBeLessThan(500);
      },
    );
    await fc.assert(property, { numRuns: 300, seed: SEED });
  });
});

describe("a connection", () => {
  test("responds to any message, including known methods with any parameters", async () => {
    const served = await serve();
    const client = await RpcClient.open(served);
    const session = await client.begin(home().workspace);
    const names = [
      ...[
        "initialize",
        "authenticate",
        "session/new",
        "session/load",
        "session/list",
        "session/resume",
        "session/fork",
      ],
      ...[
        "session/prompt",
        "session/cancel",
        "session/set_mode",
        "session/set_model",
        "session/set_config_option",
      ],
      ...["get", "list", "detach", "set_metadata", "list_models"].map(
        (name) => `_sandboxagent/session/${name}`,
      ),
      ..."agent/list agent/install fs/stat fs/read_file fs/write_file fs/move fs/upload_batch fs/list_entries"
        .split(" ")
        .map((name) => `_sandboxagent/${name}`),
      ...["$/cancel_request", "session/update", "toString", "__proto__", "constructor", ""],
    ];
    const params = fc.oneof(
      fc.constantFrom(undefined, null, [], 7, "x"),
      fc.dictionary(
        fc.constantFrom(
          "sessionId",
          "prompt",
          "cwd",
          "modeId",
          "_meta",
          "mcpServers",
          "metadata",
          "requestId",
          "cursor",
          ...["path", "from", "to", "contentBase64", "agent", "agentVersion", "reinstall"],
        ),
        fc.oneof(fc.constant(session), fc.constant("/"), fc.jsonValue({ maxDepth: 2 })),
      ),
    );
    const message = fc.record(
      {
        jsonrpc: fc.constantFrom("2.0", "2.0", "2.0", "1.0"),
        id: fc.oneof(fc.integer(), fc.string(), fc.constant(null)),
        method: fc.constantFrom(...names),
        params,
        result: fc.jsonValue({ maxDepth: 1 }),
        error: fc.jsonValue({ maxDepth: 1 }),
      },
      { requiredKeys: ["jsonrpc"] },
    );
    const property = fc.asyncProperty(message, fc.boolean(), async (body, later) => {
      const headers = {
        authorization: `Bearer ${served.access.token}`,
        "content-type": "application/json",
        ...client.named,
        ...(later && { prefer: "respond-async" }),
      };
      const status = await expectSane(
        served,
        { method: "POST", path: "/v1/rpc", headers, body: JSON.stringify(body) },
        agent,
      );
      // 404: an answer to nothing that was asked.
      expect([200, 202, 400, 403, 404, 409, 504]).toContain(status);
    });
    await fc.assert(property, { numRuns: 300, seed: SEED });
    expect((await client.request("session/list")).status).toBe(200);
  });
});
