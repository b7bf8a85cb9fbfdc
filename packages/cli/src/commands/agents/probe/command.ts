import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { AGENTS_CODES, agentsFlags } from "../flags.ts";
import type { ProbeFlags } from "./probe.ts";

const HELP = `
What an agent said is kept, and told again as long as version and settings are
the same.

Examples:
  reins agents probe claude
  reins agents probe codex --fresh --json | jq .initialized.agentCapabilities`;

/** Declares `reins agents probe`. */
export function declareProbe(agents: Command): void {
  const probe = agents
    .command("probe")
    .summary("ask an installed agent what it can do")
    .description("Starts an installed agent just to ask what it can do.")
    .argument("<agent>", "the agent; see reins agents list")
    .option("--fresh", "ask again, whatever is known");
  agentsFlags(probe)
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(AGENTS_CODES))
    .action(async (agent: string, _, command: Command) => {
      const { probe } = await import("./probe.ts");
      await probe(agent, command.optsWithGlobals<ProbeFlags>());
    });
}
