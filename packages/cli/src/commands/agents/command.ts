import type { Command } from "commander";
import { helpText } from "../../errors.ts";
import { homeFolder } from "../../home.ts";
import { HomeAgents } from "../../hosting/home-agents.ts";
import { catalogueEntry } from "../../hosting/install-agent.ts";
import { print } from "../../output.ts";
import type { Invocation } from "../../program.ts";
import { AGENTS_CODES, type AgentsFlags, agentsFlags } from "./home-agent.ts";
import { declareInstall } from "./install.ts";
import { declareList } from "./list.ts";
import { declareProbe } from "./probe.ts";
import { declareVerify } from "./verify.ts";

export function declareAgents(agents: Command, invocation: Invocation): void {
  agents.description(
    "The agents of the catalogue, and those that agents.yaml in the home adds. None of these commands needs a running " +
      "Reins.",
  );
  declareList(agents);
  declareInstall(agents, invocation);
  declareVerify(agents, invocation);
  declareProbe(agents);
  declareRemove(agents);
}

const HELP = `
Sessions and credentials stay; they are not part of the install.

Examples:
  reins agents remove codex`;

function declareRemove(agents: Command): void {
  agentsFlags(
    agents
      .command("remove")
      .summary("remove every installed version of an agent")
      .description("Removes what was installed of an agent, with what was verified of it.")
      .argument("<agent>", "the agent; see reins agents list"),
  )
    .addHelpText("after", helpText(HELP, AGENTS_CODES))
    .action((agent: string, _, command: Command) => remove(agent, command.optsWithGlobals<AgentsFlags>()));
}

export async function remove(agent: string, flags: AgentsFlags): Promise<void> {
  const agents = await HomeAgents.open(homeFolder(flags.home, process.env));
  const { name } = catalogueEntry(agents, agent);
  const removed = await agents.installer.remove(agent);
  if (flags.json) return print(`${JSON.stringify({ agent, removed })}\n`);
  print(removed ? `removed  ${name}\n` : `${name} was not installed; nothing was removed\n`);
}
