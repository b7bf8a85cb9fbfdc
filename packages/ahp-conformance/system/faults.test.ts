import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AhpServer, knownTokens, mountHttp, serveHttp, serveUnix } from "@reins/ahp";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import { type ConformanceReport, formatReport, runConformance, type Target } from "../src/index.ts";
import { FAULTS, type Fault, FaultyServer } from "./fixtures/faults.ts";
import { opinionated } from "./fixtures/handlers.ts";

const folder = await mkdtemp(join(tmpdir(), "ahp-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const QUICK = { quietMs: 2, waitMs: 5000, profile: "essential" } as const;

function failing({ sections }: ConformanceReport): string[] {
  const checks = sections.flatMap((section) => section.checks);
  return checks.filter(({ outcome }) => outcome === "fails").map(({ id }) => id);
}

/** Runs all checks against a faulty harness. */
async function reportOn(fault: Fault): Promise<ConformanceReport> {
  const path = join(folder, `${randomUUID()}.sock`);
  const { close } = await serveUnix(new FaultyServer(opinionated, fault), { path });
  try {
    return await runConformance({ transport: "unix", path }, QUICK);
  } finally {
    await close();
  }
}

// Concurrent, because they mostly wait for messages that do not come.
test.concurrent.each(Object.entries(FAULTS))("reports the fault of a harness that %s", async (_, fault) => {
  const report = await reportOn(fault);
  expect(failing(report)).toEqual(fault.fails);
  expect(report.conforms).toBe(false);
});

test("shows the exchange that reveals a fault", async () => {
  const fault = FAULTS["allows context_perception like any action"];
  if (!fault) throw new Error("no such fault");
  const text = formatReport(await reportOn(fault));
  expect(text).toMatch(
    /✗ fails: the decision on context_perception .*\n +the result does not decode: missing field `injected_context`\n +→ \{.*"context_perception".*\n +← \{.*"result":\{"decision":"allow"\}\}/,
  );
  expect(text).toContain("This harness does not conform to AHP 2.4: 1 of what it must do fails.");
});

test("reports a process that exits on bad input, and its error output", async () => {
  const harness = fileURLToPath(new URL("fixtures/harness.ts", import.meta.url));
  const target: Target = { transport: "stdio", command: process.execPath, args: [harness, "fragile"] };
  const report = await runConformance(target, QUICK);
  expect(failing(report)).toEqual(["not-json-survived"]);
  const checks = report.sections.flatMap((section) => section.checks);
  expect(checks.find(({ id }) => id === "not-json-survived")?.why).toBe(
    "the harness no longer answers: the process exited with status 3; it wrote to stderr: unexpected token",
  );
});

test("reports an HTTP harness that answers GET", async () => {
  const server = new AhpServer(opinionated);
  const mount = mountHttp(server, { protocols: ["http"] });
  const web = createServer((request, response) => {
    if (request.method === "GET") response.end("healthy");
    else if (request.url === "/ahp") mount.handle(request, response);
    else response.writeHead(404).end();
  });
  const url = await listenAt(web, "http");
  expect(failing(await runConformance({ transport: "http", url }, QUICK))).toEqual(["http-methods"]);
});

test("reports a WebSocket harness that accepts binary messages", async () => {
  const server = new AhpServer(opinionated);
  const web = createServer();
  new WebSocketServer({ server: web }).on("connection", (socket) => {
    const peer = { transport: "websocket" } as const;
    socket.on("error", () => {});
    socket.on("message", async (data) => {
      const reply = await server.handleMessage(data.toString(), peer);
      if (reply !== undefined) socket.send(reply);
    });
  });
  const url = await listenAt(web, "ws");
  expect(failing(await runConformance({ transport: "websocket", url }, QUICK))).toEqual(["websocket-binary"]);
});

test.each(["http", "websocket"] as const)(
  "authenticates over %s, and checks that others are rejected",
  async (transport) => {
    const authenticate = knownTokens([{ principal: "user", secret: "secret" }]);
    const { address, close } = await serveHttp(new AhpServer(opinionated), { authenticate });
    onTestFinished(close);
    const target = { transport, url: transport === "http" ? address : address.replace(/^http/, "ws") };
    const report = await runConformance(target, { quietMs: 2, auth: { type: "bearer", token: "secret" } });
    expect(failing(report)).toEqual([]);
    const outcomes = report.sections.find(({ section }) => section === "Authentication")?.checks;
    expect(outcomes?.map(({ outcome }) => outcome)).not.toContain("skipped");
    expect(outcomes?.length).toBe(transport === "http" ? 2 : 3);
  },
);

async function listenAt(web: ReturnType<typeof createServer>, scheme: string): Promise<string> {
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    web.close();
    web.closeAllConnections();
  });
  const address = web.address();
  return `${scheme}://127.0.0.1:${typeof address === "object" ? address?.port : 0}/ahp`;
}
