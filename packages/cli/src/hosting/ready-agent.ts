import type { AgentEntry } from "@reins/host";
import { noticeOnStderr } from "../notice.ts";
import { agentFault } from "./agent-fault.ts";
import { HomeAgents } from "./home-agents.ts";
import { installOnFirstUse } from "./installer.ts";

/** An agent that is about to run, installed if it was not yet; whoever waits at the terminal sees how far that is. */
export async function readyAgent(home: string, agent: string, json?: boolean): Promise<AgentEntry> {
  const agents = await HomeAgents.open(home);
  const entry = entryOf(agents, agent);
  if (entry.builtIn) return entry;
  try {
    await installOnFirstUse(agents, entry, { notice: noticeOnStderr(json), screen: process.stderr });
    return entry;
  } catch (error) {
    throw agentFault(error, agent);
  }
}

/** The agent of an id; faults say what to do. */
export function entryOf({ catalogue }: HomeAgents, agent: string): AgentEntry {
  try {
    return catalogue.entry(agent);
  } catch (error) {
    throw agentFault(error, agent);
  }
}
