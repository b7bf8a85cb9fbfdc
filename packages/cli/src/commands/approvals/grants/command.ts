import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, type OperatorFlags, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";
import type { GrantsFlags } from "./grants.ts";

const GRANTS_HELP = `${OPERATOR_HELP}

Examples:
  reins approvals grants
  reins approvals grants --agent claude --json | jq -r ".grants[].id"`;

const REVOKE_HELP = `${OPERATOR_HELP}

Examples:
  reins approvals revoke grt_9fKp`;

/** Declares `reins approvals grants`. */
export function declareGrants(approvals: Command): void {
  const grants = approvals
    .command("grants")
    .summary("list what is allowed for always")
    .description(
      "Lists the grants that an --always made: what each lets through, for whom, and how often it was used.",
    )
    .option("--user <id>", "only those for this user")
    .option("--agent <id>", "only those for this agent")
    .option("--all", "also those that were revoked or ran out");
  operatorFlags(grants, "print the grants as one JSON document")
    .addHelpText("after", GRANTS_HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (_, command: Command) => {
      const { grants } = await import("./grants.ts");
      await grants(command.optsWithGlobals<GrantsFlags>());
    });
}

/** Declares `reins approvals revoke`. */
export function declareRevoke(approvals: Command): void {
  const revoke = approvals
    .command("revoke")
    .summary("take a grant back")
    .description("Takes a grant back, from the next decision on.")
    .argument("<grant>", "the grant; the beginning of its id is enough");
  operatorFlags(revoke, "print the grant as JSON")
    .addHelpText("after", REVOKE_HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (grant: string, _, command: Command) => {
      const { revoke } = await import("./revoke.ts");
      await revoke(grant, command.optsWithGlobals<OperatorFlags>());
    });
}
