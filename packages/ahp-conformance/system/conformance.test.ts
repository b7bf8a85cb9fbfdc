import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AhpServer, serveHttp, serveUnix } from "@reins/ahp";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type ConformanceOptions,
  type ConformanceReport,
  runConformance,
  type Target,
} from "../src/index.ts";
import { opinionated } from "./fixtures/handlers.ts";
import { temporaryFolder } from "./fixtures/temporary.ts";

const HARNESS = fileURLToPath(new URL("fixtures/harness.ts", import.meta.url));
const QUICK: ConformanceOptions = { quietMs: 2 };

function stdio(...words: string[]): Target {
  return { transport: "stdio", command: process.execPath, args: [HARNESS, ...words] };
}

/** The same harness over a transport. */
async function served(transport: Target["transport"], compat: boolean): Promise<Target> {
  if (transport === "stdio") return compat ? stdio("compat") : stdio();
  const server = new AhpServer(opinionated, { compat });
  if (transport === "unix") {
    const { address, close } = await serveUnix(server, { path: join(await temporaryFolder(), "ahp.sock") });
    onTestFinished(close);
    return { transport, path: address };
  }
  const { address, close } = await serveHttp(server);
  onTestFinished(close);
  return { transport, url: transport === "http" ? address : address.replace(/^http/, "ws") };
}

function failing(report: ConformanceReport): string[] {
  const checks = report.sections.flatMap((section) => section.checks);
  return checks.filter(({ outcome }) => outcome === "fails").map(({ id, why }) => `${id}: ${why}`);
}

describe.each(["stdio", "unix", "websocket", "http"] as const)("our own server over %s", (transport) => {
  test("passes every check by default", async () => {
    const report = await runConformance(await served(transport, false), QUICK);
    expect(failing(report)).toEqual([]);
    expect(report).toMatchObject({ transport, conforms: true, harness: { protocol_version: "2.4" } });
    expect(report.totals.must.holds).toBeGreaterThan(150);
    expect(report.totals.improved).toEqual({ holds: 10, fails: 0, skipped: 0 });
  });

  test("passes every check but the improvements in compatibility mode", async () => {
    const report = await runConformance(await served(transport, true), QUICK);
    expect(report.conforms).toBe(true);
    expect(report.totals.must.fails).toBe(0);
    expect(report.totals.should.fails).toBe(0);
    expect(report.totals.improved).toEqual({ holds: 0, fails: 10, skipped: 0 });
  });
});

test("a minimal harness conforms; decisions that it does not support are skipped", async () => {
  const report = await runConformance(stdio("minimal"), { ...QUICK, profile: "essential" });
  expect(failing(report)).toEqual([]);
  const decisions = report.sections.find(({ section }) => section === "Decisions");
  expect(decisions?.checks.find(({ id }) => id === "decision-planning")).toMatchObject({
    outcome: "skipped",
    why: "the harness answers: Handler error: Capability not supported: Planning not supported",
  });
  expect(report.totals.improved).toEqual({ holds: 0, fails: 0, skipped: 0 });
});

test("reports every check once, as it is made, under a unique id", async () => {
  const told: string[] = [];
  const report = await runConformance(await served("http", false), {
    onCheck: ({ id }, { section }) => told.push(`${section}/${id}`),
  });
  const reported = report.sections.flatMap(({ section, checks }) =>
    checks.map(({ id }) => `${section}/${id}`),
  );
  expect(new Set(told)).toEqual(new Set(reported));
  expect(told.length).toBe(new Set(reported.map((name) => name.split("/")[1])).size);
});

test("a cancelled run skips the rest", async () => {
  const controller = new AbortController();
  const report = await runConformance(await served("unix", false), {
    ...QUICK,
    signal: controller.signal,
    onCheck: ({ id }) => id === "id-unicode" && controller.abort(),
  });
  expect(report.totals.must.holds).toBe(3);
  expect(report.totals.must.fails).toBe(0);
});

test.each<[Target, string]>([
  [{ transport: "stdio", command: "no-such-harness" }, "Transport error: Failed to spawn process"],
  [{ transport: "unix", path: "/no/such/socket" }, "Transport error: Failed to connect to /no/such/socket"],
  [
    { transport: "http", url: "http://127.0.0.1:9/ahp" },
    "Transport error: Failed to connect to http://127.0.0.1:9/ahp",
  ],
  [{ transport: "websocket", url: "ws://127.0.0.1:9/ahp" }, "Transport error: WebSocket connection failed"],
])("an unreachable harness is an error, not a report: %o", async (target, message) => {
  await expect(runConformance(target)).rejects.toThrow(message);
});
