import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import type { Invocation } from "../../../program.ts";
import { agentsFlags } from "../flags.ts";
import type { InstallFlags } from "./install.ts";

const HELP = `
Goes into the home, into a folder for each version, exactly as the catalogue's
lockfile has it. Install scripts are not run. An agent that is there already is
left as it is; one that is half there never counts.

Examples:
  reins agents install claude
  reins agents install codex --reinstall
  reins agents install claude --agent-process-version 0.98.0 --no-verify`;

/** Declares `reins agents install`. */
export function declareInstall(agents: Command, invocation: Invocation): void {
  const install = agents
    .command("install")
    .summary("install an agent, and verify that it asks")
    .description("Installs an agent into the home, then verifies that its gate is live.")
    .argument("<agent>", "the agent; see reins agents list")
    .option("--reinstall", "also when it is there already")
    .option("--agent-version <version>", "another version of the agent itself")
    .option("--agent-process-version <version>", "another version of the part that speaks ACP")
    .option("--no-verify", "do not verify it");
  agentsFlags(install)
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({
        done: "installed, and its gate is live",
        failed: "not installed, or installed and its gate is not live",
        usage: "wrong usage",
      }),
    )
    .action(async (agent: string, _, command: Command) => {
      const { install } = await import("./install.ts");
      invocation.exitCode = await install(agent, command.optsWithGlobals<InstallFlags>());
    });
}
