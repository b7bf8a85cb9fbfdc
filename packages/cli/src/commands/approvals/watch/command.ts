import type { Command } from "commander";
import { OPERATOR_CODES, type OperatorFlags, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";

const HELP = `
On a terminal each request is shown whole, and one key answers it:
  a  allow once     A  allow always     d  deny     s  later     q  quit
Elsewhere every change is one line, or with --json one document per line.
Needs a Reins that runs; waits a minute for one that is started anew.
REINS_URL and REINS_TOKEN stand in for --url and --token.

Examples:
  reins approvals watch
  reins approvals watch --json | jq -r '.approval | .id + " " + .state'`;

/** Declares `reins approvals watch`. */
export function declareWatch(approvals: Command): void {
  const watch = approvals
    .command("watch")
    .summary("see requests as they come, and answer them")
    .description("Shows what waits for an answer and what comes, until Ctrl-C.");
  operatorFlags(watch, "print one JSON document per change")
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp({ ...OPERATOR_CODES, done: "stopped by Ctrl-C or q" }))
    .action(async (_, command: Command) => {
      const { watch } = await import("./watch.ts");
      await watch(command.optsWithGlobals<OperatorFlags>());
    });
}
