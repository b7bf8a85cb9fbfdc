import { homeFolder } from "../../../home.ts";
import { HomeAgents } from "../../../hosting/home-agents.ts";
import { entryOf } from "../../../hosting/install-agent.ts";
import { print } from "../../../output.ts";
import type { AgentsFlags } from "../flags.ts";

/** Removes every installed version of an agent. */
export async function remove(agent: string, flags: AgentsFlags): Promise<void> {
  const agents = await HomeAgents.open(homeFolder(flags.home, process.env));
  const { name } = entryOf(agents, agent);
  const removed = await agents.installer.remove(agent);
  if (flags.json) return print(`${JSON.stringify({ agent, removed })}\n`);
  print(removed ? `removed  ${name}\n` : `${name} was not installed; nothing was removed\n`);
}
