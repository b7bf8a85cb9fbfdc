import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Arrivals, UpdateCounter } from "./arrivals.ts";
import { HttpLine } from "./http-line.ts";
import type { Prompter } from "./prompter.ts";

const VERSION = "0.4.2";
const PLATFORMS: ReadonlySet<string> = new Set(["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"]);
const AGENT = "pi";
const PATH = "/v1/acp/bench";
const START_MS = 10_000;

/** Sandbox Agent's published server in front of the same stub; or why it cannot be had here. */
export async function sandboxAgent(stub: string): Promise<Prompter | string> {
  const folder = await mkdtemp(join(tmpdir(), "sandbox-agent-"));
  try {
    return await started(await installed(folder), folder, stub);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    return error instanceof Error ? error.message : String(error);
  }
}

/** Its binary, installed with npm into a folder of its own. */
async function installed(folder: string): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  if (!PLATFORMS.has(platform)) throw new Error(`it is not published for ${platform}`);
  const name = `@sandbox-agent/cli-${platform}`;
  const args = ["install", "--no-save", "--ignore-scripts", "--prefix", folder, `${name}@${VERSION}`];
  await promisify(execFile)("npm", args, { cwd: folder, timeout: 120_000 });
  const binary = join(folder, "node_modules", name, "bin", "sandbox-agent");
  await chmod(binary, 0o755);
  return binary;
}

async function started(binary: string, folder: string, stub: string): Promise<Prompter> {
  const launchers = join(folder, "data", "sandbox-agent", "bin", "agent_processes");
  await mkdir(launchers, { recursive: true });
  const launcher = `#!/bin/sh\nexec '${process.execPath}' '${stub}'\n`;
  await writeFile(join(launchers, `${AGENT}-acp`), launcher, { mode: 0o755 });
  const port = await freePort();
  const args = ["server", "--no-token", "-H", "127.0.0.1", "-p", String(port), "--no-telemetry"];
  const child = spawn(binary, args, {
    stdio: "ignore",
    detached: true,
    env: { ...process.env, XDG_DATA_HOME: join(folder, "data"), SANDBOX_AGENT_LOG_HTTP: "0" },
  });
  const close = async () => {
    const gone = once(child, "exit");
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    await gone;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    return await prompterAt(`http://127.0.0.1:${port}`, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function prompterAt(address: string, close: () => Promise<void>): Promise<Prompter> {
  await listening(address);
  const line = new HttpLine(address);
  let next = 1;
  const message = (method: string, params: object) => ({ jsonrpc: "2.0", id: next++, method, params });
  await line.post(`${PATH}?agent=${AGENT}`, message("initialize", { protocolVersion: 1 }));
  const { body } = await line.post(PATH, message("session/new", { cwd: tmpdir(), mcpServers: [] }));
  const { sessionId } = Object(body.result);
  const arrivals = new Arrivals();
  const counter = new UpdateCounter(arrivals);
  await line.stream(PATH, {}, (piece) => counter.take(piece));
  return {
    name: `Sandbox Agent ${VERSION}`,
    prompt: async (text) => {
      const prompt = [{ type: "text", text }];
      await line.post(PATH, message("session/prompt", { sessionId, prompt }));
    },
    updates: () => arrivals.count,
    arrived: (count) => arrivals.reach(count),
    close: async () => {
      line.close();
      await close();
    },
  };
}

async function listening(address: string): Promise<void> {
  const until = performance.now() + START_MS;
  for (;;) {
    try {
      await fetch(`${address}/v1/health`);
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address ? address.port : 0;
}
