import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";
import { names } from "../../../flags.ts";
import type { AddFlags } from "./add.ts";

const HELP = `
The role admin may change users and tokens of its tenant, and accept its
policy. Scopes are what the constitution's tools ask for; * is all.
${OPERATOR_HELP}

Examples:
  reins user add ann --name "Ann Reed" --email ann@example.com --role admin
  reins user add bob --name Bob --email bob@acme.example --tenant acme`;

/** Declares `reins user add`. */
export function declareAdd(user: Command): void {
  operatorFlags(
    user
      .command("add")
      .summary("add a user")
      .description(
        "Adds a user, and the tenant if it is the first one there. One that was removed may come again.",
      )
      .argument("<id>", "what the user is called in rules and in the record")
      .requiredOption("--name <name>", "the person's name (required)")
      .requiredOption("--email <address>", "where the person can be reached (required)")
      .option("--tenant <id>", "the tenant (default: one's own)")
      .option("--role <roles>", "roles, with commas between (default: none)", names)
      .option("--scopes <scopes>", "scopes, with commas between (default: none)", names),
    "print the user as JSON",
  )
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (id: string, _, command: Command) => {
      const { add } = await import("./add.ts");
      await add(id, command.optsWithGlobals<AddFlags>());
    });
}
