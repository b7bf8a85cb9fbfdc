import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { AhpClient, type Transport } from "@reins/ahp";
import { describe, expect, it } from "vitest";
import { folder, listening, type Reins, reinsCommand, runReins } from "./support/reins.ts";

let count = 0;

/** A home that no other test uses. */
function newHome(): string {
  count += 1;
  return join(folder, `home-${count}`);
}

/** `reins up` on any free port, once its home is open. */
async function up(home: string, ...flags: string[]): Promise<Reins> {
  const reins = await listening(["up", "--port", "0", "--home", home, ...flags]);
  await reins.printed("rules are in force");
  return reins;
}

/** How programs show the token that a home keeps. */
async function tokenOf(home: string) {
  const token = (await readFile(join(home, "start-token"), "utf8")).trim();
  return { method: { type: "bearer", token } } as const;
}

async function decisionOf(transport: Transport) {
  const client = await AhpClient.connect(transport, { reconnect: false });
  try {
    const harness = await client.handshake(["pre_action"]);
    return { harness, decision: await client.sendEvent("pre_action", { tool_name: "bash" }) };
  } finally {
    await client.close();
  }
}

describe("reins up", () => {
  it("serves HTTP, WebSocket and the socket, and decides by the constitution it wrote", async () => {
    const home = newHome();
    const reins = await up(home);
    const auth = await tokenOf(home);
    const transports: Transport[] = [
      { type: "http", url: reins.addressOf("http"), auth },
      { type: "websocket", url: reins.addressOf("websocket"), auth },
      { type: "unix", path: join(home, "ahp.sock") },
    ];
    for (const transport of transports) {
      const { harness, decision } = await decisionOf(transport);
      expect(harness.harness_info).toMatchObject({ name: "reins", version: expect.stringMatching(/^\d/) });
      expect(decision).toMatchObject({
        decision: "block",
        reason: "the agent is not on the roster; register it with reins roster add",
      });
    }
    expect(reins.addressOf("http")).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/ahp$/);
    expect(reins.addressOf("unix")).toBe(join(home, "ahp.sock"));
    await reins.until(() => reins.log.filter((entry) => entry.decision === "block").length === 3);
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    for (const name of ["ahp.sock", "reins.sock", "start-token"])
      expect((await stat(join(home, name))).mode & 0o777).toBe(0o600);
  });

  it("decides over stdio, by reins ahp serve --stdio without handlers", async () => {
    const home = newHome();
    const reins = await up(home);
    const [program = "", ...args] = reinsCommand;
    const stdio = {
      type: "stdio",
      program,
      args: [...args, "ahp", "serve", "--stdio", "--home", home],
    } as const;
    const { harness, decision } = await decisionOf(stdio);
    expect(harness.harness_info).toMatchObject({ name: "reins" });
    expect(decision).toMatchObject({ decision: "block", reason: expect.stringContaining("roster") });
    await reins.until(() => reins.log.filter((entry) => entry.decision === "block").length === 1);
    reins.signal("SIGTERM");
    await reins.ended;
    const gone = await runReins(["ahp", "serve", "--stdio", "--home", home]);
    expect(gone).toMatchObject({ code: 3, stdout: "" });
    expect(gone.stderr).toContain("No Reins runs");
  });

  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("stops cleanly on %s", async (signal) => {
    const home = newHome();
    const reins = await up(home);
    const idle = await AhpClient.connect(
      { type: "websocket", url: reins.addressOf("websocket"), auth: await tokenOf(home) },
      { reconnect: false },
    );
    reins.signal(signal);
    expect(await reins.ended).toMatchObject({ code: 0, stderr: "" });
    expect(reins.log.at(-1)).toMatchObject({ msg: "stopped" });
    for (const name of ["ahp.sock", "reins.sock"]) expect(existsSync(join(home, name))).toBe(false);
    await idle.close();
  });

  it("says that the port is in use, and leaves no socket behind", async () => {
    const home = newHome();
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const address = other.address();
    const port = typeof address === "object" ? String(address?.port) : "";
    const { code, stderr } = await runReins(["up", "--home", home, "--port", port]);
    other.close();
    expect(code).toBe(4);
    expect(stderr).toContain(`Port ${port} on 127.0.0.1 is in use`);
    expect(stderr).toContain("reins up --port");
    expect(stderr).not.toContain("    at ");
    expect(existsSync(join(home, "ahp.sock"))).toBe(false);
  });

  it("says that the first is running when a second comes on the same home", async () => {
    const home = newHome();
    const first = await up(home);
    const { code, stderr } = await runReins(["up", "--port", "0"], { REINS_HOME: home });
    expect(code).toBe(4);
    expect(stderr).toContain(`Reins is already running on ${home}`);
    const { decision } = await decisionOf({ type: "unix", path: first.addressOf("unix") });
    expect(decision.decision).toBe("block");
  });

  it("takes the place of one that was killed", async () => {
    const home = newHome();
    const first = await up(home);
    await first.kill();
    expect(existsSync(join(home, "ahp.sock"))).toBe(true);
    const second = await up(home);
    const { decision } = await decisionOf({ type: "unix", path: second.addressOf("unix") });
    expect(decision.decision).toBe("block");
  });

  it("rejects requests on the port without a token", async () => {
    const reins = await up(newHome());
    const url = reins.addressOf("http");
    await expect(decisionOf({ type: "http", url })).rejects.toThrow("401");
    await expect(
      decisionOf({ type: "http", url, auth: { method: { type: "bearer", token: "reins_guess" } } }),
    ).rejects.toThrow("401");
  });

  it("wants the token that it was given", async () => {
    const reins = await up(newHome(), "--token", "secret", "--token", "other");
    const url = reins.addressOf("http");
    await expect(decisionOf({ type: "http", url })).rejects.toThrow("401");
    for (const method of [
      { type: "bearer", token: "secret" },
      { type: "api_key", key: "other" },
    ] as const) {
      expect((await decisionOf({ type: "http", url, auth: { method } })).decision.decision).toBe("block");
    }
    expect(reins.stdout).not.toContain("secret");
  });

  it("does not open itself to others without a token", async () => {
    const { code, stdout, stderr } = await runReins(["up", "--home", newHome()], { REINS_HOST: "0.0.0.0" });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Refusing to listen on 0.0.0.0 without a token");
  });

  it("logs what only reports with --verbose", async () => {
    const reins = await up(newHome(), "--verbose");
    const client = await AhpClient.connect({ type: "unix", path: reins.addressOf("unix") });
    await client.handshake([]);
    await client.sendNotification("post_action", { status: "ok" });
    await reins.printed('"noted"');
    await client.close();
    expect(reins.log.at(-1)).toMatchObject({ level: "debug", event_type: "post_action" });
  });

  it("refuses a home whose socket would have too long a path", async () => {
    const { code, stderr } = await runReins(["up", "--port", "0", "--home", join(folder, "x".repeat(100))]);
    expect(code).toBe(2);
    expect(stderr).toContain("too long for a socket");
  });
});
