import type { Command } from "commander";
import { exitCodesHelp } from "../../errors.ts";
import type { AcpFlags } from "./acp.ts";

const HELP = `
An editor starts it as it would start the agent itself; in Zed, for instance:
  "agent_servers": { "Claude, governed":
    { "command": "node", "args": ["<clone>/scripts/reins.mjs", "acp", "--agent", "claude"] } }

Examples:
  reins acp --agent claude
  reins acp --agent codex --home ./scratch`;

/** Declares `reins acp`. */
export function declareAcp(program: Command): void {
  program
    .command("acp")
    .summary("run an agent for an editor, under the constitution")
    .description(
      "Speaks ACP on standard input and output, as the agent itself would, with everything it does decided and recorded.\n" +
        "What is to be said to a person goes to standard error.",
    )
    .option("--agent <id>", "the agent; see reins agents list", "native")
    .option("--home <folder>", "where Reins keeps everything (default: reins in the user's data folder)")
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({
        done: "the editor closed it",
        failed: "failed",
        usage: "wrong usage",
        unreachable: "the Reins that it went through has gone, and none came back",
        taken: "another process holds the home, and does not answer",
      }),
    )
    .action(async (_, command: Command) => {
      const { acp } = await import("./acp.ts");
      await acp(command.optsWithGlobals<AcpFlags>());
    });
}
