import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { AGENTS_CODES, type AgentsFlags, agentsFlags } from "../flags.ts";

const HELP = `
Sessions and credentials stay; they are not part of the install.

Examples:
  reins agents remove codex`;

/** Declares `reins agents remove`. */
export function declareRemove(agents: Command): void {
  const remove = agents
    .command("remove")
    .summary("remove every installed version of an agent")
    .description("Removes what was installed of an agent, with what was verified of it.")
    .argument("<agent>", "the agent; see reins agents list");
  agentsFlags(remove)
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(AGENTS_CODES))
    .action(async (agent: string, _, command: Command) => {
      const { remove } = await import("./remove.ts");
      await remove(agent, command.optsWithGlobals<AgentsFlags>());
    });
}
