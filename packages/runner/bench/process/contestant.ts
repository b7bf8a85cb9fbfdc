import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { AgentProcess } from "../../src/process/agent-process.ts";
import { Owner } from "../../src/process/owner.ts";

const AGENT = fileURLToPath(new URL("./burst-agent.ts", import.meta.url));

/** One way to speak with the agent. */
export interface Contestant {
  send(message: Record<string, unknown>): void;
  /** Sets the listener of messages. */
  take(listener: () => void): void;
  close(): Promise<void>;
}

/** The least one can do: a child, `readline` and `JSON.parse`; `slowly`, a line at a time. */
export function bare(slowly: boolean): Contestant {
  // In a session of its own, like ours: Linux shares the processor out by session, which is not what is compared.
  const child = spawn(process.execPath, [AGENT], { stdio: ["pipe", "pipe", "inherit"], detached: true });
  let taken: () => void = () => undefined;
  const take = (line: string) => {
    if (typeof JSON.parse(line) === "object") taken();
  };
  const lines = createInterface({ input: child.stdout });
  const readSlowly = async () => {
    for await (const line of lines) take(line);
  };
  if (slowly) void readSlowly();
  else lines.on("line", take);
  return {
    send: (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    take: (listener) => {
      taken = listener;
    },
    close: async () => void child.kill(),
  };
}

/** Ours; `slowly` has a listener that returns a promise each time. */
export async function governed(slowly: boolean): Promise<Contestant> {
  const home = await mkdtemp(join(tmpdir(), "process-bench-"));
  const agent = await AgentProcess.start(
    { command: process.execPath, args: [AGENT], env: {}, cwd: home, label: "the agent" },
    { owner: new Owner(home), onFault: ({ kind }) => console.error(kind) },
  );
  let taken: () => void = () => undefined;
  agent.onMessage(slowly ? async () => taken() : () => taken());
  return {
    send: (message) => void agent.send(message),
    take: (listener) => {
      taken = listener;
    },
    close: async () => {
      await agent.stop();
      await rm(home, { recursive: true });
    },
  };
}
