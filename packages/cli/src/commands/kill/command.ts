import type { Command } from "commander";
import { OPERATOR_CODES, operatorFlags } from "../../client/connect.ts";
import { exitCodesHelp } from "../../errors.ts";
import type { Invocation } from "../../program.ts";
import type { KillFlags } from "./kill.ts";

const HELP = `
A session ends for good, with the agent behind it; other sessions of the same
agent are cut off, and go on with their next prompt. An agent, or everything,
is ended at once: SIGKILL to every process that came out of it, wherever it hid.

On this machine it does not need Reins to answer: a thread of its own listens on
kill.sock in the home. What is told as gone was looked for in the process table
afterwards. Every kill is in the ledger: reins ledger log --quality kill

Examples:
  reins kill 4f3a9c01                    a session, by the beginning of its id
  reins kill claude                      every process of an agent
  reins kill --all --reason "it phones home"
  reins kill --process 41253             one process; the page shows them at /ui/agents`;

/** Declares `reins kill`. */
export function declareKill(program: Command, invocation: Invocation): void {
  const kill = program
    .command("kill")
    .summary("end a session, an agent or everything, at once")
    .description(
      "Ends what agents run, also while Reins is too busy to answer, and tells what the system says of it.",
    )
    .argument("[what]", "an agent, or the id of a session or its beginning")
    .option("--all", "everything that came out of any agent")
    .option("--session <id>", "a session, whatever its id looks like")
    .option("--agent <name>", "an agent, whatever its name looks like")
    .option("--process <id>", "one process of an agent")
    .option("--reason <text>", "why, for the ledger");
  operatorFlags(kill)
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({
        ...OPERATOR_CODES,
        done: "everything that was meant is gone",
        failed: "something is left, nothing of the kind runs, or it was refused",
      }),
    )
    .action(async (what: string | undefined, _, command: Command) => {
      const { kill } = await import("./kill.ts");
      invocation.exitCode = await kill(what, command.optsWithGlobals<KillFlags>());
    });
}
