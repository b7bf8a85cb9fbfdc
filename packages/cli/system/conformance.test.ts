import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { folder, listening, reinsCommand, runReins } from "./support/reins.ts";

const HANDLERS = fileURLToPath(new URL("../../../examples/handlers.ts", import.meta.url));
const BROKEN = join(folder, "broken.ts");
writeFileSync(
  BROKEN,
  `import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const id = /"id":"([^"]*)"/.exec(line)?.[1] ?? null;
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result: { decision: "allow" } }));
}`,
);
const LONG = 120_000;

const examine = (...args: string[]) => runReins(["ahp", "conformance", ...args]);

describe("reins ahp conformance", () => {
  it("holds for reins up over every transport it serves", { timeout: LONG }, async () => {
    const home = join(folder, "home");
    const reins = await listening(["up", "--port", "0", "--home", home]);
    await reins.printed('"websocket"');
    const token = ["--token", `@${join(home, "start-token")}`];
    const targets = [
      ["http", reins.addressOf("http"), ...token],
      ["ws", reins.addressOf("websocket"), ...token],
      ["unix", reins.addressOf("unix")],
    ];
    for (const target of targets) {
      const { code, stdout } = await examine(...target, "--essential");
      expect(stdout).toContain("This harness conforms to AHP 2.4.");
      expect(code).toBe(0);
    }
  });

  it("holds for a handler module over stdio", { timeout: LONG }, async () => {
    const command = [...reinsCommand, "ahp", "serve", "--stdio", "--handlers", HANDLERS];
    const { code, stdout } = await examine("stdio", "--essential", "--json", "--", ...command);
    expect(JSON.parse(stdout)).toMatchObject({
      transport: "stdio",
      conforms: true,
      totals: { must: { fails: 0 } },
    });
    expect(code).toBe(0);
  });

  it("does not hold for a broken harness, and shows the exchange", { timeout: LONG }, async () => {
    const { code, stdout, stderr } = await examine(
      "stdio",
      "--wait-ms",
      "500",
      "--",
      process.execPath,
      BROKEN,
    );
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout).toContain("does not conform to AHP 2.4");
    expect(stdout).toMatch(/→ .*ahp\/handshake/);
  });

  it.each([
    ["stdio", "--", "/no/such/program"],
    ["http", "http://127.0.0.1:1/ahp"],
    ["ws", "ws://127.0.0.1:1/ahp"],
    ["unix", join(folder, "missing.sock")],
  ])("says that %s cannot be reached", async (...args) => {
    const { code, stdout, stderr } = await examine(...args);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain("cannot be reached");
    expect(stderr).not.toContain("    at ");
  });

  it("wants a transport that exists", async () => {
    const { code, stderr } = await examine("tcp", "127.0.0.1:1");
    expect(code).toBe(2);
    expect(stderr).toContain("Use one of: stdio, http, ws, unix.");
  });
});
