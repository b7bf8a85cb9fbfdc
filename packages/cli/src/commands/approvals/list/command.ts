import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";
import type { ListFlags } from "./settings.ts";

const HELP = `${OPERATOR_HELP}

Examples:
  reins approvals list
  reins approvals list --state all --newest --limit 20
  reins approvals list --session reed-1 --json | jq -r ".approvals[].id"`;

/** Declares `reins approvals list`. */
export function declareList(approvals: Command): void {
  const list = approvals
    .command("list")
    .summary("list what waits for an answer, or what became of it")
    .description("Lists approvals, one on a line, the oldest first.")
    .option("--state <state>", "pending, approved, denied, expired, withdrawn, used or all", "pending")
    .option("--session <id>", "only those of this session")
    .option("--limit <count>", "at most so many")
    .option("--newest", "the newest first");
  operatorFlags(list, "print the approvals as one JSON document")
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (_, command: Command) => {
      const { list } = await import("./list.ts");
      await list(command.optsWithGlobals<ListFlags>());
    });
}
