import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hookAgent, installHooks } from "@reins/agents";
import { AhpClient } from "@reins/ahp";
import { describe, expect, test } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";
import { folder, keepRunning, type Reins } from "./support/reins.ts";

/** A home with hooks, on which Reins runs. */
async function hooked(): Promise<{ readonly home: OperatedHome; readonly reins: Reins }> {
  const home = new OperatedHome();
  const reins = await home.up();
  await install(home);
  return { home, reins };
}

/** Installs the hooks, as `reins hooks install` does. */
async function install(home: OperatedHome): Promise<void> {
  const place = { agent: hookAgent("claude"), home: home.path, userHome: folder, environment: {} };
  await installHooks({ ...place, node: process.execPath, wait: 600, reads: "block" });
}

/** Where an agent says that it works. */
interface Claimed {
  readonly root: string;
  readonly cwd?: string;
  readonly session?: string;
  readonly agent?: "claude" | "codex" | "gemini";
  /** For how many seconds a person is waited for. */
  readonly wait?: number;
}

/** Runs the hook for an event of an agent, and returns what it answers. */
async function hook(home: OperatedHome, claimed: Claimed, event: Readonly<Record<string, unknown>>) {
  const { root, cwd = root, session = "one", agent = "claude", wait = 5 } = claimed;
  const program = join(home.path, "hooks", "reins-hook.mjs");
  const child = spawn(process.execPath, [program, agent, "--home", home.path, "--wait", String(wait)], {
    env: { CLAUDE_PROJECT_DIR: root, GEMINI_PROJECT_DIR: root },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stdin.end(JSON.stringify({ session_id: session, cwd, ...event }));
  await once(child, "close");
  return output === "" ? {} : JSON.parse(output);
}

/** Runs the hook for a file that is to be written, as an agent that says it works in a folder does. */
async function write(home: OperatedHome, file: string, claimed: Claimed) {
  const call = { hook_event_name: "PreToolUse", tool_name: "Write", tool_use_id: file };
  const answer = await hook(home, claimed, { ...call, tool_input: { file_path: file, content: "x" } });
  const { permissionDecision, permissionDecisionReason } = answer.hookSpecificOutput;
  return { decision: permissionDecision, reason: permissionDecisionReason };
}

/** The entries of the ledger of some qualities, in their order. */
async function recorded(home: OperatedHome, ...qualities: string[]) {
  const text = await home.done("ledger", "log", "--json");
  const entries = text.trim().split("\n");
  return entries.map((line) => JSON.parse(line).entry).filter(({ quality }) => qualities.includes(quality));
}

async function sessions(home: OperatedHome, reins: Reins) {
  const headers = { authorization: `Bearer ${await home.startToken()}` };
  const found = await fetch(new URL("/v1/sessions", reins.addressOf("http")), { headers });
  return Object(await found.json()).sessions;
}

describe("a session of hooks", () => {
  let shared: ReturnType<typeof hooked> | undefined;
  /** The same for several tests, none of which begins a session. */
  const common = async () => {
    shared ??= hooked();
    keepRunning((await shared).reins);
    return shared;
  };

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
    const { home, reins } = await common();
    const place = root(home);
    // Some agents say in which folder they were begun, others only where they are.
    for (const agent of ["claude", "codex"] as const) {
      const { decision, reason } = await write(home, join(place, "a.txt"), { root: place, agent });
      expect([decision, reason]).toEqual(["deny", expect.stringContaining(why)]);
    }
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

describe("a question of a hook", () => {
  /** A command that rules ask about, because it is opaque. */
  async function questioned() {
    const { home } = await hooked();
    const script = join(home.workspace, "script.sh");
    await writeFile(script, "echo ran\n");
    const call = {
      hook_event_name: "PreToolUse",
      tool_name: "Bash",
      tool_input: { command: `sh ${script}` },
    };
    const run = async (wait?: number) => {
      const given = { root: home.workspace, ...(wait !== undefined && { wait }) };
      const { hookSpecificOutput: said } = await hook(home, given, call);
      return [said.permissionDecision, said.permissionDecisionReason];
    };
    return { home, run };
  }

  test("stays open when it is not answered in time, and counts once when the call comes again", async () => {
    const { home, run } = await questioned();
    expect(await run(3)).toEqual(["deny", expect.stringContaining("stays open")]);
    const id = await home.pending();
    await home.answer(id, "allow_once");
    expect(await run()).toEqual(["allow", expect.any(String)]);
    expect(await home.fetched("/v1/approvals?state=used")).toMatchObject({ approvals: [{ id }] });
  });

  test("allows nothing after its session was ended in Reins", async () => {
    const { home, run } = await questioned();
    const waiting = run(60);
    const id = await home.pending();
    await home.done("kill", "--session", "claude-one");
    await home.run("approvals", "approve", id);
    const [decision] = await waiting;
    expect([decision, (await run())[0]]).toEqual(["deny", "deny"]);
  });
});

test("a prompt that names a file which may not be read is blocked, however it names it", async () => {
  const { home } = await hooked();
  const { workspace: root } = home;
  const key = join(root, ".ssh", "id_rsa");
  await mkdir(dirname(key));
  for (const file of [key, join(root, "note.txt")]) await writeFile(file, "x");
  await symlink(key, join(root, "harmless.txt"));
  const names = [
    "@.ssh/id_rsa",
    `@${key}`,
    '@"./.ssh/id_rsa"',
    "@harmless.txt",
    "(@note.txt/../.ssh/id_rsa)",
  ];
  for (const name of names) {
    const said = await hook(home, { root }, { hook_event_name: "UserPromptSubmit", prompt: `see ${name}` });
    expect(said).toMatchObject({ decision: "block" });
  }
  const prompt = { hook_event_name: "UserPromptSubmit", prompt: "see @note.txt" };
  expect(await hook(home, { root }, prompt)).toEqual({});
});

describe("the result of a call", () => {
  /** The verdicts on two calls at once, in their order, and the results, with the file that each is about. */
  async function results(home: OperatedHome, files: readonly string[]) {
    const entries = await recorded(home, "policy_verdict", "tool_result");
    const verdicts = entries.filter(({ quality }) => quality === "policy_verdict");
    const fileOf = (cid: string) => {
      const { payload } = verdicts.find((each) => each.cid === cid) ?? {};
      return files.find((file) => payload && JSON.stringify(payload.facts).includes(file));
    };
    const ended = entries.filter(({ quality }) => quality === "tool_result");
    return ended.map(({ payload, tags }) => [
      payload.outcome,
      fileOf(payload.verdict),
      tags.includes("ungated"),
    ]);
  }

  test.each(["claude", "gemini"] as const)(
    "is that of its own verdict, of several calls of a tool (%s)",
    async (agent) => {
      const { home } = await hooked();
      const claimed = { root: home.workspace, agent };
      const files = ["a.txt", "b.txt"].map((name) => join(home.workspace, name));
      const [before, after] =
        agent === "claude" ? ["PreToolUse", "PostToolUse"] : ["BeforeTool", "AfterTool"];
      const callOf = (file: string) => ({
        tool_name: agent === "claude" ? "Write" : "write_file",
        tool_input: { file_path: file, content: "x" },
        ...(agent === "claude" && { tool_use_id: file }),
      });
      for (const file of files) await hook(home, claimed, { hook_event_name: before, ...callOf(file) });
      const [first = "", second = ""] = files;
      const failed = { tool_response: { error: "no room" } };
      await hook(home, claimed, { hook_event_name: after, ...callOf(second), ...failed });
      await hook(home, claimed, { hook_event_name: after, ...callOf(first), tool_response: {} });
      expect(await results(home, files)).toEqual([
        ["failed", second, false],
        ["completed", first, false],
      ]);
    },
  );

  test("is recorded as ungated where no such call was allowed, once for each", async () => {
    const { home } = await hooked();
    const claimed = { root: home.workspace };
    const file = join(home.workspace, "a.txt");
    await write(home, file, claimed);
    const ended = { hook_event_name: "PostToolUse", tool_name: "Write", tool_input: {}, tool_response: {} };
    await hook(home, claimed, { ...ended, tool_use_id: "unheard" });
    await hook(home, claimed, { ...ended, tool_use_id: file });
    await hook(home, claimed, { ...ended, tool_use_id: file });
    expect(await results(home, [file])).toEqual([
      ["completed", undefined, true],
      ["completed", file, false],
      ["completed", undefined, true],
    ]);
  });
});

describe("a sub-agent of an agent in a terminal", () => {
  const child = { agent_id: "a7", agent_type: "Explore" };
  const rules = `
tool_rules:
  - { name: no-children, condition: { tool_name_matches: [Write], depth: { at_least: 1 } }, verdict: blocked, reason: not below }
  - { name: rest, condition: {}, verdict: allowed }
`;

  test("is recorded with its parent, its calls are its own, and rules can speak of it", async () => {
    const home = new OperatedHome();
    await mkdir(home.path);
    await writeFile(join(home.path, "constitution.yaml"), rules);
    await home.up();
    await install(home);
    const claimed = { root: home.workspace };
    const file = join(home.workspace, "a.txt");
    const call = { hook_event_name: "PreToolUse", tool_name: "Write", tool_input: { file_path: file } };
    await hook(home, claimed, { hook_event_name: "UserPromptSubmit", prompt: "go" });
    await hook(home, claimed, { hook_event_name: "SubagentStart", ...child });
    const below = await hook(home, claimed, { ...call, ...child, tool_use_id: "1" });
    await hook(home, claimed, { hook_event_name: "SubagentStop", ...child, last_assistant_message: "found" });
    const above = await hook(home, claimed, { ...call, tool_use_id: "2" });
    expect([below, above].map(({ hookSpecificOutput }) => hookSpecificOutput.permissionDecision)).toEqual([
      "deny",
      "allow",
    ]);
    const entries = await recorded(home, "policy_verdict", "session_lifecycle");
    const known = entries.map(({ payload }) => {
      const { agent, session, subagent, depth, started } = payload.subject ?? {};
      return [payload.change ?? payload.event_type, agent, session, subagent, depth, started];
    });
    const [own, its] = [
      ["claude", "claude-one", undefined, 0, "interactive"],
      ["claude", "claude-one", { id: "a7", type: "Explore" }, 1, "sub-agent"],
    ];
    expect(known.filter(([, agent]) => agent === "claude")).toEqual([
      ["pre_prompt", ...own],
      ["subagent_start", ...its],
      ["pre_action", ...its],
      ["subagent_stop", ...its],
      ["pre_action", ...own],
    ]);
    expect(await home.run("ledger", "verify")).toMatchObject({ code: 0 });
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
