// Plays Reins: starts the agents it is given, prints their pids, and waits to be killed.
import { AgentProcess } from "../../src/process/agent-process.ts";
import { Owner } from "../../src/process/owner.ts";
import type { Launch } from "../../src/process/spawn.ts";
import type { Sandbox } from "../../src/sandbox/confine.ts";

/** What the parent is to do. */
export interface ParentOrder {
  readonly home: string;
  readonly launches: readonly Launch[];
  readonly sandbox?: Sandbox;
}

const { home, launches, sandbox }: ParentOrder = JSON.parse(process.argv[2] ?? "");
const owner = new Owner(home);
const options = { owner, onFault: () => undefined, ...(sandbox && { sandbox }) };
const pids: number[] = [];
for (const launch of launches) {
  const agent = await AgentProcess.start(launch, options);
  agent.onMessage(() => undefined);
  pids.push(agent.pid);
}
console.log(JSON.stringify(pids));
process.stdin.resume();
