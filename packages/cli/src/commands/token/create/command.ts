import { type Command, Option } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";
import { names } from "../../../flags.ts";
import type { CreateFlags } from "./create.ts";

const HELP = `
Where stdout is no terminal the secret stands alone on it, ready to be piped.
${OPERATOR_HELP}

Examples:
  reins token create --user ann --agents claude --started interactive
  reins token create --user ci --kind service --scopes repo:read --expires 90d
  reins token create --user ann --agents reed > reed.token
  reins token create --user bob --tenant acme --role builder --json`;

/** Declares `reins token create`. */
export function declareCreate(token: Command): void {
  operatorFlags(
    token
      .command("create")
      .summary("make a token and print its secret")
      .description("Makes a token for a user and prints its secret, this once.")
      .requiredOption("--user <id>", "the user it acts for (required)")
      .option("--tenant <id>", "the user's tenant (default: one's own)")
      .option("--role <role>", "the one of the user's roles it acts in (default: all of them)")
      .option(
        "--scopes <scopes>",
        "what it may at most, with commas between (default: all that the user has)",
        names,
      )
      .option("--agents <agents>", "the agents it may act as, * for any (default: none)", names)
      .addOption(
        new Option("--started <how>", "how the work it begins was started (default: api)").choices([
          "interactive",
          "background",
          "api",
          "sub-agent",
        ]),
      )
      .addOption(
        new Option("--kind <kind>", "who holds it; an agent never answers approvals (default: user)").choices(
          ["user", "service", "agent"],
        ),
      )
      .option("--expires <time>", "when it ends: 12h, 30d, or a time (default: when it is revoked)"),
    "print id and secret as JSON",
  )
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (_, command: Command) => {
      const { create } = await import("./create.ts");
      await create(command.optsWithGlobals<CreateFlags>());
    });
}
