import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import type { Invocation } from "../../../program.ts";
import { REPLAYING } from "../exit-codes.ts";
import type { BacktestFlags } from "./settings.ts";

const HELP = `
Rules are held against rules: what limits, other harnesses and people made of a
verdict is left aside. Verdicts that the very same rules gave come out the same.
For rules that count what came before, an action of the past counts if it was
really let through and the draft lets it pass too. Times for --since are in UTC,
such as 2026-11-15 or 2026-11-15T05:20:00Z, or say how long ago: 90s, 15m, 2h.

Examples:
  reins policy backtest draft.yaml --since 7d
  reins policy backtest draft.yaml --fail-on looser     in a pull request
  reins policy backtest draft.yaml --json | jq '.changes[] | {to, tool, count}'`;

/** Declares `reins policy backtest`. */
export function declareBacktest(policy: Command, invocation: Invocation): void {
  policy
    .command("backtest")
    .summary("try a draft on the verdicts of the past")
    .description(
      "Decides every verdict in the ledger again by a draft, from the facts on record, and shows what " +
        "would change, grouped and counted. Changes nothing, and works while Reins runs.",
    )
    .argument("<file>", "the draft of a constitution")
    .option("--home <folder>", "the home folder")
    .option("--tenant <name>", "whose verdicts (default: default)")
    .option("--since <time>", "only verdicts from then on")
    .option("--limit <count>", "at most so many, the newest of them")
    .option("--examples <count>", "how many examples to show of each change", "3")
    .option(
      "--fail-on <what>",
      "end with 1 if something becomes looser, or if any verdict changes: looser, change",
    )
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({
        ...REPLAYING,
        failed: "the file is not fine, or what --fail-on names has come to pass",
      }),
    )
    .action(async (file: string, _, command: Command) => {
      const { backtest } = await import("./backtest.ts");
      invocation.exitCode = await backtest(file, command.optsWithGlobals<BacktestFlags>());
    });
}
