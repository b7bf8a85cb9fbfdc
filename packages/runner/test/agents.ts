import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject, MessageFault, MessageListener } from "@reins/kit";
import { onTestFinished } from "vitest";
import { AgentProcess, type ProcessOptions } from "../src/process/agent-process.ts";
import { Owner } from "../src/process/owner.ts";
import { systemTable } from "../src/process/process-table.ts";
import type { Launch } from "../src/process/spawn.ts";

/** A folder of the running test, gone when it ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "host-process-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** An agent whose messages and faults are kept. It is stopped when the test ends. */
export interface Started {
  readonly agent: AgentProcess;
  readonly folder: string;
  readonly messages: JsonObject[];
  readonly faults: MessageFault[];
}

/** Starts a script of the shell as an agent. */
export function startShell(
  script: string,
  options: Parameters<typeof startAgent>[1] = {},
  launch: Partial<Launch> = {},
): Promise<Started> {
  return startAgent({ command: "/bin/sh", args: ["-c", script], ...launch }, options);
}

/** Starts a program as an agent; its messages are kept, unless a listener is given. */
export async function startAgent(
  launch: Partial<Launch>,
  { listener, ...options }: Partial<ProcessOptions> & { readonly listener?: MessageListener } = {},
): Promise<Started> {
  const folder = await temporaryFolder();
  const messages: JsonObject[] = [];
  const faults: MessageFault[] = [];
  const agent = await AgentProcess.start(
    {
      command: "",
      args: [],
      env: { PATH: process.env.PATH ?? "" },
      cwd: folder,
      label: "the agent",
      ...launch,
    },
    { owner: options.owner ?? new Owner(folder), onFault: (fault) => faults.push(fault), ...options },
  );
  onTestFinished(async () => void (await agent.stop({ graceMs: 0 })));
  agent.onMessage(listener ?? ((message) => void messages.push(message)));
  return { agent, folder, messages, faults };
}

/** Whether a process is alive. */
export async function isAlive(pid: number): Promise<boolean> {
  return (await systemTable.find(pid)) !== undefined;
}
