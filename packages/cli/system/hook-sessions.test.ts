import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { AhpClient } from "@reins/ahp";
import { describe, expect, test } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";
import { folder, type Reins } from "./support/reins.ts";

/** A home with hooks, on which Reins runs. */
async function hooked(): Promise<{ readonly home: OperatedHome; readonly reins: Reins }> {
  const home = new OperatedHome();
  const reins = await home.up();
  await home.done("hooks", "install", "claude");
  return { home, reins };
}

/** Runs the hook for a file that is to be written, as an agent that says it works in a folder does. */
async function write(
  home: OperatedHome,
  file: string,
  claimed: { root: string; cwd?: string; session?: string },
) {
  const { root, cwd = root, session = "one" } = claimed;
  const program = join(home.path, "hooks", "reins-hook.mjs");
  const child = spawn(process.execPath, [program, "claude", "--home", home.path, "--wait", "5"], {
    env: { CLAUDE_PROJECT_DIR: root },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const call = { hook_event_name: "PreToolUse", tool_name: "Write", tool_use_id: file };
  child.stdin.end(
    JSON.stringify({ session_id: session, cwd, ...call, tool_input: { file_path: file, content: "x" } }),
  );
  await once(child, "close");
  const { permissionDecision, permissionDecisionReason } = JSON.parse(output).hookSpecificOutput;
  return { decision: permissionDecision, reason: permissionDecisionReason };
}

async function sessions(home: OperatedHome, reins: Reins) {
  const headers = { authorization: `Bearer ${await home.startToken()}` };
  const found = await fetch(new URL("/v1/sessions", reins.addressOf("http")), { headers });
  return Object(await found.json()).sessions;
}

describe("a session of hooks", () => {
  test("stays in the folder in which it began, whatever is claimed later", async () => {
    const { home, reins } = await hooked();
    const inside = join(home.workspace, "a.txt");
    expect(await write(home, inside, { root: home.workspace })).toMatchObject({ decision: "allow" });
    const other = join(folder, "elsewhere.txt");
    expect(await write(home, other, { root: folder, cwd: folder })).toMatchObject({ decision: "deny" });
    expect(await write(home, "b.txt", { root: "/", cwd: home.workspace })).toMatchObject({
      decision: "allow",
    });
    expect(await sessions(home, reins)).toMatchObject([{ id: "claude-one", cwd: home.workspace }]);
  });

  test.each([
    ["a folder around the files of Reins", () => folder, "Reins itself"],
    ["the files of Reins", (home: OperatedHome) => home.path, "files of Reins"],
    ["the whole machine", () => "/", ""],
    ["the system's files", () => "/proc/self", ""],
    ["no folder at all", () => join(folder, "missing"), "no folder"],
    ["a path that is relative", () => ".", "absolute"],
  ])("is refused in %s", async (_, root, why) => {
    const { home, reins } = await hooked();
    const place = root(home);
    const { decision, reason } = await write(home, join(place, "a.txt"), { root: place });
    expect([decision, reason]).toEqual(["deny", expect.stringContaining(why)]);
    expect(await sessions(home, reins)).toEqual([]);
  });

  test("is one, however many calls arrive at once", async () => {
    const { home, reins } = await hooked();
    const files = Array.from({ length: 12 }, (_, one) => join(home.workspace, `${one}.txt`));
    const decided = await Promise.all(files.map((file) => write(home, file, { root: home.workspace })));
    expect(decided.map(({ decision }) => decision)).toEqual(files.map(() => "allow"));
    expect(await sessions(home, reins)).toMatchObject([{ id: "claude-one", event_count: files.length }]);
  });

  test("is not begun, nor placed, by a caller other than the operator", async () => {
    const { home, reins } = await hooked();
    await home.done("user", "add", "ann", "--name", "Ann", "--email", "ann@example.com");
    const { secret: token } = await home.json("token", "create", "--user", "ann", "--agents", "claude");
    const auth = { method: { type: "bearer", token } } as const;
    const options = {
      reconnect: false,
      agentId: "claude",
      sessionId: "claude-two",
      onFailure: "throw",
    } as const;
    const client = await AhpClient.connect({ type: "http", url: reins.addressOf("http"), auth }, options);
    await client.handshake(["pre_action"]);
    const hook = { event: "PreToolUse", cwd: folder, root: folder };
    const payload = { tool_name: "Write", arguments: { file_path: join(folder, "a.txt"), content: "x" } };
    const named = {
      session_id: "claude-two",
      agent_id: "claude",
      timestamp: new Date().toISOString(),
      depth: 0,
    };
    const event = { event_type: "pre_action", ...named, payload, metadata: { hook } } as const;
    const decision = await client.sendEvent(event);
    await client.close();
    expect(decision.decision).not.toBe("allow");
    expect(await sessions(home, reins)).toEqual([]);
  });
});

test("reins doctor says which hooks are installed, and which are not whole", async () => {
  const home = await OperatedHome.begun();
  const findings = async () => {
    const { stdout } = await home.run("doctor", "--json");
    return JSON.parse(stdout).findings.filter(({ check }: { check: string }) => check === "hooks");
  };
  expect(await findings()).toEqual([]);
  await home.done("hooks", "install", "claude");
  expect(await findings()).toMatchObject([{ state: "fine" }]);
  await rm(join(home.path, "hooks", "reins-hook.mjs"));
  expect(await findings()).toMatchObject([{ state: "wrong", mend: "reins hooks install claude" }]);
  await home.done("hooks", "uninstall", "claude");
  expect(await findings()).toEqual([]);
});
