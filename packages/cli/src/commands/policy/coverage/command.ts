import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { REPLAYING } from "../exit-codes.ts";
import type { CoverageFlags } from "./coverage.ts";

const HELP = `
An action is named if a rule decides on it that says what it is about; a rule
with the condition {} names nothing. Times for --since are in UTC, such as
2026-11-15, or say how long ago: 90s, 15m, 2h, 3d.

Examples:
  reins policy coverage
  reins policy coverage --since 30d
  reins policy coverage draft.yaml --json | jq '.never_matched'`;

/** Declares `reins policy coverage`. */
export function declareCoverage(policy: Command): void {
  policy
    .command("coverage")
    .summary("find actions that no rule names, and rules that nothing was about")
    .description(
      "Decides every verdict in the ledger again, and shows the actions that no rule names, how often " +
        "each rule decided, and which never did or never can. Changes nothing, and works while Reins " +
        "runs.",
    )
    .argument("[file]", "the constitution (default: constitution.yaml of the home)")
    .option("--home <folder>", "the home folder")
    .option(
      "--tenant <name>",
      "whose verdicts, and whose constitution when no file is named (default: default)",
    )
    .option("--since <time>", "only verdicts from then on")
    .option("--limit <count>", "at most so many, the newest of them")
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(REPLAYING))
    .action(async (file: string | undefined, _, command: Command) => {
      const { coverage } = await import("./coverage.ts");
      await coverage(file, command.optsWithGlobals<CoverageFlags>());
    });
}
