import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { AGENTS_CODES, type AgentsFlags, agentsFlags } from "../flags.ts";

const HELP = `
installed  version and source: lockfile (as the catalogue has it), asked for
           (versions of one's own), local (was there already), built in
verified   what reins agents verify found, and when; outdated if the agent is
           not the same any more
level      what holds it to a verdict: performed, confined, asked or observed
unasked    what it does without asking

Examples:
  reins agents list
  reins agents list --json | jq -r '.agents[] | select(.version) | .agent'`;

/** Declares `reins agents list`. */
export function declareList(agents: Command): void {
  const list = agents
    .command("list")
    .summary("list the agents, what is installed and how far it is held")
    .description("Lists the agents that can be run.");
  agentsFlags(list)
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(AGENTS_CODES))
    .action(async (_, command: Command) => {
      const { list } = await import("./list.ts");
      await list(command.optsWithGlobals<AgentsFlags>());
    });
}
