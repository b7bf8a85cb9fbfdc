import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";

const run = promisify(execFile);

function fileOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

/** Runs an example and returns the lines it prints. Rejects if a check in it fails. */
async function outputOf(name: string, ...given: readonly string[]): Promise<string[]> {
  const { stdout } = await run(process.execPath, [fileOf(name), ...given], {
    env: { ...process.env, ...shown },
  });
  return stdout.trim().split("\n");
}

/** The environment with the token for the agents, once a harness of Reins runs. */
const shown: Record<string, string> = {};

/** Runs `reins up` in a new home until the test ends. Returns the address of its harness. */
async function reinsUp(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "reins-examples-"));
  const main = fileOf("../packages/cli/src/main.ts");
  const reins = spawn(process.execPath, [main, "up", "--port", "0", "--home", home], {
    env: { ...process.env, REINS_LOG: "info" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    delete shown.REINS_TOKEN;
    reins.kill();
    await once(reins, "exit");
    await rm(home, { recursive: true });
  });
  let printed = "";
  for await (const chunk of reins.stdout) {
    printed += String(chunk);
    const [address] = /http:\/\/127\.0\.0\.1:\d+\/ahp/.exec(printed) ?? [];
    if (address === undefined || !printed.includes("rules are in force")) continue;
    shown.REINS_TOKEN = (await readFile(join(home, "start-token"), "utf8")).trim();
    reins.stdout.resume();
    return address;
  }
  throw new Error(printed);
}

describe("the agents, at the harness of reins up", () => {
  it("send their token and get its decisions", async () => {
    const address = await reinsUp();
    const typed = await outputOf("typed-event-agent.ts", address.replace("http", "ws"));
    expect(typed[0]).toMatch(/^reins speaks AHP 2\.4$/);
    expect(typed.at(-1)).toBe("memory: the agent is not on the roster; register it with reins roster add");
    const full = await outputOf("full-event-agent.ts", address);
    expect(full[0]).toBe("pre_action: block");
    expect(full[1]).toBe("batch: allow, allow, block");
  });
});

describe("the examples", () => {
  it("http-harness.ts", async () => {
    expect(await outputOf("http-harness.ts")).toEqual([
      "serving HTTP",
      'modified: {"approved_by":"alice","tool_name":"bash"}',
      'answered: {"asked":"weather"}',
      "a request without a token was refused",
    ]);
  });

  it("websocket-harness.ts", async () => {
    expect(await outputOf("websocket-harness.ts")).toEqual([
      "serving WebSocket",
      "answers in the order they were ready: quick, slow",
      "a handler that hangs: block - Handler error: Timeout after 200ms",
      "a harness that is gone: block - Connection closed",
    ]);
  });

  it("typed-event-agent.ts", async () => {
    expect(await outputOf("typed-event-agent.ts")).toEqual([
      "stdio-example speaks AHP 2.4",
      "intent: question (0.75)",
      "fact: The workspace is /repo",
      "plan: step_by_step",
      "background work: defer",
      expect.stringMatching(/^memory: .*Memory recall not supported$/),
    ]);
  });

  it("full-event-agent.ts", async () => {
    expect(await outputOf("full-event-agent.ts")).toEqual([
      "pre_action: allow",
      "batch: allow, allow, allow",
      "the harness saw it whole: run tests",
    ]);
  });

  it("acp-client.ts", async () => {
    expect(await outputOf("acp-client.ts")).toEqual([
      "the agent answered: end_turn",
      expect.stringMatching(/^asked: .*npm test; answered: /),
      "still listed: true",
    ]);
  });

  it("stdio-harness.ts ends when its input does", async () => {
    const harness = spawn(process.execPath, [fileOf("stdio-harness.ts")], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    let replies = "";
    harness.stdout.setEncoding("utf8").on("data", (text: string) => {
      replies += text;
    });
    const params = { event_type: "pre_action", session_id: "s", agent_id: "a", timestamp: "t", depth: 0 };
    for (const [id, payload] of [
      ["1", { command: "rm -rf /" }],
      ["2", { command: "ls" }],
    ]) {
      const request = { jsonrpc: "2.0", id, method: "ahp/event", params: { ...params, payload } };
      harness.stdin.write(`${JSON.stringify(request)}\n`);
    }
    harness.stdin.end();
    const [code] = await once(harness, "close");
    expect(code).toBe(0);
    const answers = replies
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(answers.map(({ id, result }) => [id, result.decision])).toEqual([
      ["1", "block"],
      ["2", "allow"],
    ]);
  });
});
