import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";
import type { AnswerFlags } from "./answer.ts";

const CODES = {
  ...OPERATOR_CODES,
  failed: "answered already, over, or not yours to answer; says by whom and when",
} as const;

const APPROVE_HELP = `
Once counts for exactly what was asked, one time. Always makes a grant, for
exactly the same in any session; see reins approvals grants and revoke.
${OPERATOR_HELP}

Examples:
  reins approvals approve apr_7Qx2
  reins approvals approve apr_7Qx2 --always --for 8h
  reins approvals approve apr_7Qx2 --always --prefix "npm test"
  reins approvals approve apr_7Qx2 --note "after the backup"`;

const DENY_HELP = `${OPERATOR_HELP}

Examples:
  reins approvals deny apr_7Qx2
  reins approvals deny apr_7Qx2 --note "use a branch of your own"`;

/** Declares `reins approvals approve`. */
export function declareApprove(approvals: Command): void {
  const approve = approvals
    .command("approve")
    .summary("allow what is asked for")
    .description("Allows what an approval asks for, once or from now on.")
    .argument("<id>", "the approval; its beginning is enough")
    .option("--always", "allow exactly the same from now on")
    .option("--prefix <words>", 'with --always: every plain command here that begins so, such as "npm test"')
    .option("--for <time>", "with --always: for so long, such as 30m, 8h or 7d")
    .option("--note <text>", "a note for the record");
  operatorFlags(approve, "print the approval as JSON")
    .addHelpText("after", APPROVE_HELP)
    .addHelpText("after", exitCodesHelp(CODES))
    .action(async (id: string, _, command: Command) => {
      const { approve } = await import("./answer.ts");
      await approve(id, command.optsWithGlobals<AnswerFlags>());
    });
}

/** Declares `reins approvals deny`. */
export function declareDeny(approvals: Command): void {
  const deny = approvals
    .command("deny")
    .summary("refuse what is asked for")
    .description("Denies what an approval asks for. One no is enough, however many people are asked.")
    .argument("<id>", "the approval; its beginning is enough")
    .option("--note <reason>", "the reason, which the agent is told");
  operatorFlags(deny, "print the approval as JSON")
    .addHelpText("after", DENY_HELP)
    .addHelpText("after", exitCodesHelp(CODES))
    .action(async (id: string, _, command: Command) => {
      const { deny } = await import("./answer.ts");
      await deny(id, command.optsWithGlobals<AnswerFlags>());
    });
}
