import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AhpServer, knownTokens, mountHttp, serveHttp, serveUnix } from "@reins/ahp";
import { expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import { type ConformanceReport, formatReport, runConformance, type Target } from "../src/index.ts";
import { FAULTS, FaultyServer } from "./fixtures/faults.ts";
import { opinionated } from "./fixtures/handlers.ts";
import { temporaryFolder } from "./fixtures/temporary.ts";

const QUICK = { quietMs: 2, waitMs: 1000, profile: "essential" } as const;

function failing({ sections }: ConformanceReport): string[] {
  const checks = sections.flatMap((section) => section.checks);
  return checks.filter(({ outcome }) => outcome === "fails").map(({ id }) => id);
}

test.each(Object.entries(FAULTS))("names what is wrong with a harness that %s", async (_, fault) => {
  const path = join(await temporaryFolder(), "ahp.sock");
  const { close } = await serveUnix(new FaultyServer(opinionated, fault), { path });
  onTestFinished(close);
  const report = await runConformance({ transport: "unix", path }, QUICK);
  expect(failing(report)).toEqual(fault.fails);
  expect(report.conforms).toBe(false);
});

test("shows the exchange that gives a fault away", async () => {
  const path = join(await temporaryFolder(), "ahp.sock");
  const fault = FAULTS["allows context_perception like any action"];
  if (!fault) throw new Error("no such fault");
  const { close } = await serveUnix(new FaultyServer(opinionated, fault), { path });
  onTestFinished(close);
  const text = formatReport(await runConformance({ transport: "unix", path }, QUICK));
  expect(text).toMatch(
    /✗ fails: the decision on context_perception .*\n +the result does not decode: missing field `injected_context`\n +→ \{.*"context_perception".*\n +← \{.*"result":\{"decision":"allow"\}\}/,
  );
  expect(text).toContain("This harness does not conform to AHP 2.4: 1 of what it must do fails.");
});

test("names what is wrong with a process that dies of bad input, and what it said", async () => {
  const harness = fileURLToPath(new URL("fixtures/harness.ts", import.meta.url));
  const target: Target = { transport: "stdio", command: process.execPath, args: [harness, "fragile"] };
  const report = await runConformance(target, { ...QUICK, waitMs: 5000 });
  expect(failing(report)).toEqual(["not-json-survived"]);
  const checks = report.sections.flatMap((section) => section.checks);
  expect(checks.find(({ id }) => id === "not-json-survived")?.why).toBe(
    "the harness no longer answers: the process exited with status 3; it wrote to stderr: unexpected token",
  );
});

test("names what is wrong with an HTTP harness that answers GET", async () => {
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

test("names what is wrong with a WebSocket harness that takes binary messages", async () => {
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
  "proves itself over %s, and sees that others are turned away",
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
