import type { Command } from "commander";
import { exitCodesHelp } from "../../errors.ts";
import type { Invocation } from "../../program.ts";
import type { RunFlags } from "./run.ts";

const HELP = `
Examples:
  reins run "what is in this folder?" --agent claude
  git diff | reins run "review this change" --agent codex
  reins run "tidy up" --agent claude --cwd ~/project --mode plan`;

/** Declares `reins run`. */
export function declareRun(program: Command, invocation: Invocation): void {
  program
    .command("run")
    .argument("<prompt>", "what the agent is to do; what is piped in comes after it")
    .summary("give an agent one task, in this terminal")
    .description(
      "Runs an agent in this folder, shows what it says and does, and asks here whatever a person has to decide.\n" +
        "Where there is no terminal to ask on, what needs a person waits for reins approvals.",
    )
    .option("--agent <id>", "the agent; see reins agents list", "native")
    .option("--cwd <folder>", "where it works (default: here)")
    .option("--mode <mode>", "the mode to put it into")
    .option("--home <folder>", "where Reins keeps everything (default: reins in the user's data folder)")
    .option("--json", "one JSON document for each message")
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({
        done: "the turn ended",
        failed: "it failed, was refused or cancelled",
        usage: "wrong usage",
        taken: "another process holds the home",
      }),
    )
    .action(async (prompt: string, _, command: Command) => {
      const { run } = await import("./run.ts");
      invocation.exitCode = await run(prompt, command.optsWithGlobals<RunFlags>());
    });
}
