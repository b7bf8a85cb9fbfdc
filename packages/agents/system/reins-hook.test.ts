import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { CATALOGUE_FILES } from "../src/agent-launch.ts";

const PROGRAM = join(CATALOGUE_FILES, "reins-hook.mjs");
const CALL = { session_id: "s", cwd: "/w", hook_event_name: "PreToolUse", tool_name: "Read", tool_input: {} };

interface Request {
  readonly id: string;
  readonly method: string;
  readonly params: { readonly payload?: { readonly arguments?: unknown } };
}

/** Answers a request, by writing to the socket; a text is written as it is. */
type Answer = (request: Request, socket: Socket, line: string) => unknown;

const HELLO = { protocol_version: "2.4", harness_info: { name: "reins", version: "1", capabilities: [] } };

/** A harness that greets, and answers everything else in some way. */
const greeting =
  (result: (request: Request) => unknown, hello: unknown = HELLO): Answer =>
  ({ id, ...request }) =>
    JSON.stringify({
      jsonrpc: "2.0",
      id,
      result: request.method === "ahp/handshake" ? hello : result({ id, ...request }),
    });

/** The home of a Reins that answers so; without one, nothing listens there. */
async function homeWith(answer?: Answer): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "hook-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  if (!answer) return home;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let rest = "";
    socket.on("error", () => undefined);
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const said = answer(JSON.parse(line), socket, line);
        if (typeof said === "string") socket.write(`${said}\n`);
      }
    });
  });
  server.listen(join(home, "ahp.sock"));
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return home;
}

/** Runs the hook with an input, and returns its exit code and what it prints. */
async function run(args: readonly string[], input: unknown) {
  const child = spawn(process.execPath, [PROGRAM, ...args]);
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(typeof input === "string" ? input : JSON.stringify(input));
  const [code] = await once(child, "close");
  return { code, stdout };
}

/** The same for Claude Code, with what it says read. */
async function hook(home: string, input: unknown, ...flags: string[]) {
  const { code, stdout } = await run(["claude", "--home", home, ...flags], input);
  return { code, said: stdout === "" ? undefined : JSON.parse(stdout).hookSpecificOutput };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const DENIED = { permissionDecision: "deny" };

describe("the hook program", () => {
  test("allows what Reins allows, and denies what it blocks, with the reason", async () => {
    const allowing = await homeWith(
      greeting(() => ({ decision: "allow", metadata: { reason: "harmless" } })),
    );
    expect(await hook(allowing, CALL)).toMatchObject({
      code: 0,
      said: { permissionDecision: "allow", permissionDecisionReason: "Reins: harmless" },
    });
    const blocking = await homeWith(greeting(() => ({ decision: "block", reason: "not here" })));
    expect(await hook(blocking, CALL)).toMatchObject({
      code: 0,
      said: { ...DENIED, permissionDecisionReason: "Blocked by Reins: not here" },
    });
  });

  test("passes on arguments that replace those of the agent", async () => {
    const home = await homeWith(greeting(() => ({ decision: "modify", modified_payload: { a: 1 } })));
    expect(await hook(home, CALL)).toMatchObject({
      said: { permissionDecision: "allow", updatedInput: { a: 1 } },
    });
  });

  test("passes on the numbers of such arguments as they are written", async () => {
    const decided = greeting(() => ({ decision: "modify", modified_payload: { n: 0 } }));
    const home = await homeWith((...asked) =>
      String(decided(...asked)).replace('"n":0', '"n":12345678901234567890'),
    );
    const { stdout } = await run(["claude", "--home", home], CALL);
    expect(stdout).toContain('"updatedInput":{"n":12345678901234567890}');
  });

  test("blocks what would be changed where the agent takes no change", async () => {
    const home = await homeWith(greeting(() => ({ decision: "modify", modified_payload: { prompt: "x" } })));
    const { stdout } = await run(["claude", "--home", home], {
      ...CALL,
      hook_event_name: "UserPromptSubmit",
    });
    expect(JSON.parse(stdout)).toMatchObject({ decision: "block" });
    const gemini = await run(["gemini", "--home", home], { ...CALL, hook_event_name: "BeforeTool" });
    expect(JSON.parse(gemini.stdout)).toMatchObject({ decision: "deny" });
  });

  test("reads the events of Copilot, and answers in its form", async () => {
    const seen: unknown[] = [];
    const home = await homeWith(
      greeting(({ method, params }) => {
        if (method !== "ahp/handshake") seen.push(params);
        return { decision: "modify", modified_payload: { command: "ls" }, metadata: { reason: "shorter" } };
      }),
    );
    const call = { sessionId: "s", cwd: "/w", toolName: "bash", toolArgs: '{"n":12345678901234567890}' };
    const { code, stdout } = await run(
      ["copilot", "--home", home, "--event", "preToolUse", "--decide"],
      call,
    );
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      {
        permissionDecision: "allow",
        permissionDecisionReason: "Reins: shorter",
        modifiedArgs: { command: "ls" },
      },
    ]);
    expect(seen).toMatchObject([
      {
        event_type: "pre_action",
        session_id: "copilot-s",
        payload: { tool_name: "bash", arguments: { n: expect.any(Number) } },
        metadata: { hook: { event: "preToolUse", cwd: "/w" } },
      },
    ]);
    const broken = { ...call, toolArgs: "{" };
    expect(await run(["copilot", "--home", home, "--event", "preToolUse", "--decide"], broken)).toMatchObject(
      {
        code: 2,
        stdout: "",
      },
    );
  });

  test("takes a sub-agent of Copilot for one of the session that began it, and its prompt for a part of that call", async () => {
    const seen: unknown[] = [];
    const home = await homeWith(
      greeting(({ method, params }) => {
        if (method !== "ahp/handshake") seen.push(params);
        return { decision: "block", reason: "no" };
      }),
    );
    const child = { agentId: "c", agentType: "explore", parentAgentId: "s" };
    const args = ["copilot", "--home", home, "--event"];
    const call = { sessionId: "c", cwd: "/w", toolName: "bash", toolArgs: {}, ...child };
    expect(JSON.parse((await run([...args, "preToolUse", "--decide"], call)).stdout)).toMatchObject(DENIED);
    expect(seen).toMatchObject([
      {
        session_id: "copilot-s",
        depth: 1,
        metadata: { hook: { subagent: "c", subagent_type: "explore" } },
      },
    ]);
    const prompt = {
      ...{ hook_event_name: "UserPromptSubmit", session_id: "c", cwd: "/w", prompt: "go" },
      ...{ agent_id: "c", agent_type: "explore", parent_agent_id: "s" },
    };
    expect(await run([...args, "UserPromptSubmit", "--decide"], prompt)).toEqual({ code: 0, stdout: "" });
    expect(await run([...args, "agentStop"], { sessionId: "c", cwd: "/w", ...child })).toMatchObject({
      code: 0,
    });
    expect(seen).toHaveLength(1);
  });

  test("sends numbers as they are written", async () => {
    let seen = "";
    const home = await homeWith((request, socket, line) => {
      seen += line;
      return greeting(() => ({ decision: "block" }))(request, socket, line);
    });
    await hook(
      home,
      JSON.stringify(CALL).replace('"tool_input":{}', '"tool_input":{"n":12345678901234567890}'),
    );
    expect(seen).toContain('"n":12345678901234567890');
  });

  test.each<readonly [string, Answer | undefined]>([
    ["is not there", undefined],
    ["closes at once", (_, socket) => void socket.destroy()],
    ["sends no JSON", () => "hello"],
    ["answers null", ({ id }) => JSON.stringify({ jsonrpc: "2.0", id, result: null })],
    [
      "answers with an error",
      ({ id }) => JSON.stringify({ jsonrpc: "2.0", id, error: { code: 1, message: "no" } }),
    ],
    ["decides nothing", greeting(() => ({}))],
    ["has a decision of its own", greeting(() => ({ decision: "ALLOW" }))],
    ["decides by a list", greeting(() => [{ decision: "allow" }])],
    ["modifies to nothing", greeting(() => ({ decision: "modify" }))],
    ["asks a person without saying whom", greeting(() => ({ decision: "escalate", reason: "hm" }))],
    [
      "speaks another version",
      greeting(() => ({ decision: "allow" }), { ...HELLO, protocol_version: "3.0" }),
    ],
    [
      "is another harness",
      greeting(() => ({ decision: "allow" }), { ...HELLO, harness_info: { name: "x" } }),
    ],
    [
      "never greets",
      ({ id, method }, socket) =>
        method === "ahp/handshake"
          ? void setTimeout(() => socket.destroy(), 50)
          : JSON.stringify({ jsonrpc: "2.0", id, result: { decision: "allow" } }),
    ],
  ])("denies when Reins %s", async (_, answer) => {
    expect(await hook(await homeWith(answer), CALL, "--wait", "5")).toMatchObject({ code: 0, said: DENIED });
  });

  test("leaves reads to the agent where that was chosen, but only while Reins is away", async () => {
    const away = await homeWith();
    expect(await hook(away, CALL, "--reads", "allow")).toEqual({ code: 0, said: undefined });
    expect(await hook(away, { ...CALL, tool_name: "Bash" }, "--reads", "allow")).toMatchObject({
      said: DENIED,
    });
    const blocking = await homeWith(greeting(() => ({ decision: "block", reason: "no" })));
    expect(await hook(blocking, CALL, "--reads", "allow")).toMatchObject({ said: DENIED });
  });

  test("denies an answer that does not come in time, and says that the approval stays open", async () => {
    const home = await homeWith(
      greeting(({ method }) =>
        method === "ahp/query"
          ? { answer: { state: "pending" } }
          : { decision: "escalate", reason: "hm", escalation_target: "approval:a1" },
      ),
    );
    const { said } = await hook(home, CALL, "--wait", "2");
    expect(said).toMatchObject(DENIED);
    expect(said.permissionDecisionReason).toContain("reins approvals approve a1");
  });

  test.each([
    ["the agent itself", [process.execPath]],
    ["a shell of the agent", ["/bin/sh", "-c", '"$0" "$@"; exit $?', process.execPath]],
  ])("leaves an approval alone once the agent is gone, started by %s", async (_, before) => {
    const asked: string[] = [];
    let state = "pending";
    const home = await homeWith(
      greeting(({ method }) => {
        asked.push(method);
        if (method === "ahp/query") return { answer: { state } };
        return { decision: "escalate", reason: "hm", escalation_target: "approval:a1" };
      }),
    );
    const agent = spawn(process.execPath, [
      "-e",
      `const [input, file, ...args] = process.argv.slice(1);
       const hook = require("node:child_process").spawn(file, args, { stdio: ["pipe", "ignore", "ignore"] });
       hook.stdin.end(input);
       console.log(hook.pid);`,
      JSON.stringify(CALL),
      ...[...before, PROGRAM, "claude", "--home", home, "--wait", "60"],
    ]);
    const [pid] = await once(agent.stdout, "data");
    onTestFinished(() => void (isAlive(Number(pid)) && process.kill(Number(pid), "SIGKILL")));
    await expect.poll(() => asked).toContain("ahp/query");
    agent.kill("SIGKILL");
    await once(agent, "exit");
    state = "approved";
    await expect.poll(() => isAlive(Number(pid))).toBe(false);
    expect(asked.filter((method) => method === "ahp/event")).toHaveLength(1);
  });

  test("denies while the agent still waits for it, when Reins hangs at the deadline", async () => {
    const hanging = await homeWith(() => undefined);
    const begun = performance.now();
    // Four seconds after the deadline of a person, as the last request of a hook that waited for one.
    expect(await hook(hanging, CALL, "--wait", "-4")).toMatchObject({ code: 0, said: DENIED });
    expect(performance.now() - begun).toBeLessThan(15_000);
  });

  test.each([
    ["no JSON", "{"],
    ["nothing", ""],
    ["no object", "3"],
    ["a name of no text", { ...CALL, hook_event_name: 3 }],
  ])("never allows an input that is %s", async (_, input) => {
    const home = await homeWith(greeting(() => ({ decision: "allow" })));
    const { code, said } = await hook(home, input);
    expect(said?.permissionDecision).not.toBe("allow");
    expect([0, 2]).toContain(code);
  });

  test("blocks an event that it does not know where something has to be decided", async () => {
    const home = await homeWith(greeting(() => ({ decision: "allow" })));
    for (const hook_event_name of ["PreToolUseNew", "PostToolUse", 3])
      expect(await hook(home, { ...CALL, hook_event_name }, "--decide")).toEqual({
        code: 2,
        said: undefined,
      });
  });

  test("denies a call without a session, and one that is too large to be decided", async () => {
    const home = await homeWith(greeting(() => ({ decision: "allow" })));
    const { session_id: _, ...anonymous } = CALL;
    expect(await hook(home, anonymous)).toMatchObject({ said: DENIED });
    expect(await hook(home, { ...CALL, tool_input: { text: "x".repeat(2_000_000) } })).toMatchObject({
      said: DENIED,
    });
    expect(await hook(home, `"${"x".repeat(17_000_000)}"`)).toMatchObject({ code: 2, said: undefined });
  });

  test("reports nothing loudly: an event that is not decided never blocks", async () => {
    const away = await homeWith();
    for (const hook_event_name of ["PostToolUse", "Stop", "SessionEnd", "SubagentStop", "Unheard"])
      expect(await hook(away, { ...CALL, hook_event_name })).toEqual({ code: 0, said: undefined });
  });
});
