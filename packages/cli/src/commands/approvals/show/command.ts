import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, type OperatorFlags, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";

const HELP = `
An id may be cut short as long as it is clear which one is meant. What was
written by others stands in quotes or behind a bar, hidden characters spelled
out.
${OPERATOR_HELP}

Examples:
  reins approvals show apr_7Qx2
  reins approvals show apr_7Qx2 --json | jq .facts.effects`;

/** Declares `reins approvals show`. */
export function declareShow(approvals: Command): void {
  const show = approvals
    .command("show")
    .summary("show exactly what somebody is asked to allow")
    .description("Shows who asks for what and why, and what an answer would count for.")
    .argument("<id>", "the approval");
  operatorFlags(show)
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (id: string, _, command: Command) => {
      const { show } = await import("./show.ts");
      await show(id, command.optsWithGlobals<OperatorFlags>());
    });
}
