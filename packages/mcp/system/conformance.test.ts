import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { serveGateway } from "./fixtures/conformance-gateway.ts";
import { stdioServer } from "./fixtures/home.ts";

/** The published suite, which is a program; its requirements are beside it. */
const SUITE = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"));
const REVISIONS = ["2025-11-25", "2026-07-28"] as const;

interface Suite {
  readonly code: number;
  readonly output: string;
}

/** Runs the suite in a folder of its own, where it leaves its results. */
async function suite(args: readonly string[]): Promise<Suite> {
  const cwd = await mkdtemp(join(tmpdir(), "mcp-conformance-"));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  const run = promisify(execFile)(process.execPath, [SUITE, ...args], { cwd, maxBuffer: 64 << 20 });
  const ended = await run.then(
    ({ stdout, stderr }) => ({ code: 0, output: `${stdout}${stderr}` }),
    ({ code = 1, stdout = "", stderr = "" }: { code?: number; stdout?: string; stderr?: string }) => ({
      ...{ code, output: `${stdout}${stderr}` },
    }),
  );
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the suite colours its output
  return { ...ended, output: ended.output.replace(/\x1b\[[\d;]*m/g, "") };
}

/** The scenarios that a revision requires of a side. */
async function required(revision: string, side: "server" | "client"): Promise<string[]> {
  const folder = join(dirname(SUITE), "..", "requirements");
  const lines = (await readFile(join(folder, `${revision}.yaml`), "utf8")).split("\n");
  const names = lines.slice(lines.indexOf(`${side}:`) + 1);
  const end = names.findIndex((line) => line !== "" && !line.startsWith("  - "));
  return names.slice(0, end).flatMap((line) => /^ {2}- (\S+)$/.exec(line)?.[1] ?? []);
}

describe.each(REVISIONS)("revision %s of MCP", (revision) => {
  test("is spoken to agents as its published suite requires of servers", async () => {
    const { url, gate, close } = await serveGateway(stdioServer("everything-stdio.ts"));
    onTestFinished(close);
    const { code, output } = await suite(["server", "--url", url, "--requirements", revision]);
    const scenarios = await required(revision, "server");
    const passed = scenarios.filter((name) => new RegExp(`✓ ${name}: [1-9]`).test(output));
    expect(passed).toEqual(scenarios);
    expect(scenarios.length).toBeGreaterThan(25);
    expect(code).toBe(0);
    expect(gate.decided.length).toBeGreaterThan(10);
  });

  test("is spoken to servers as its published suite requires of clients", async () => {
    const program = fileURLToPath(new URL("./fixtures/conformance-client.ts", import.meta.url));
    const scenarios = await required(revision, "client");
    expect(scenarios).toContain("tools_call");
    expect(scenarios.filter((name) => name.startsWith("auth/")).length).toBeGreaterThan(13);
    const more = revision === "2026-07-28" ? ["http-invalid-tool-headers"] : [];
    for (const scenario of new Set([...scenarios, ...more])) {
      const which = ["--scenario", scenario, "--spec-version", revision, "--timeout", "60000"];
      const { code, output } = await suite([
        ...["client", "--command", `${process.execPath} ${program}`],
        ...which,
      ]);
      expect([scenario, code, /Passed: \d+\/\d+, \d+ failed/.exec(output)?.[0]]).toEqual([
        ...[scenario, 0],
        expect.stringMatching(/, 0 failed$/),
      ]);
    }
  });
});
