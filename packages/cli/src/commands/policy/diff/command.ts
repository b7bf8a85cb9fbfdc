import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { LOOKING } from "../exit-codes.ts";
import type { DiffFlags } from "./diff.ts";

const HELP = `
A new constitution that can be seen to be no looser applies at once; any other
waits for an admin. What cannot be seen to be stricter counts as looser. To see
what it would have changed in the past, use reins policy backtest.

Examples:
  reins policy diff ~/.local/share/reins/constitution.yaml draft.yaml
  reins policy diff old.yaml new.yaml --json | jq .no_looser`;

/** Declares `reins policy diff`. */
export function declareDiff(policy: Command): void {
  policy
    .command("diff")
    .summary("tell how one constitution differs from another")
    .description(
      "Tells which rules, limits, tools, harnesses and tests were added, removed, moved or changed, and" +
        " whether the new constitution can be seen to let nothing more through.",
    )
    .argument("<old>", "the constitution as it was")
    .argument("<new>", "the constitution as it would be")
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp({ ...LOOKING, failed: "one of the files is not fine" }))
    .action(async (before: string, after: string, _, command: Command) => {
      const { diff } = await import("./diff.ts");
      await diff(before, after, command.optsWithGlobals<DiffFlags>());
    });
}
