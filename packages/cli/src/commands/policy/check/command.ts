import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import type { Invocation } from "../../../program.ts";
import type { PolicyFlags } from "../constitution-file.ts";
import { LOOKING } from "../exit-codes.ts";

const HELP = `
Examples:
  reins policy check                       the constitution of this home
  reins policy check draft.yaml
  reins policy check draft.yaml --json | jq .faults`;

/** Declares `reins policy check`. */
export function declareCheck(policy: Command, invocation: Invocation): void {
  policy
    .command("check")
    .summary("say whether Reins would take a constitution, and if not, why")
    .description(
      "Reads a constitution, compiles it and runs its tests, as Reins does before it takes one. Shows " +
        "what is wrong with line and column, and remarks on what is most likely a mistake.",
    )
    .argument("[file]", "the constitution (default: constitution.yaml of the home)")
    .option("--home <folder>", "the home folder")
    .option("--tenant <name>", "whose constitution, when no file is named (default: default)")
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp({ ...LOOKING, done: "Reins would take it" }))
    .action(async (file: string | undefined, _, command: Command) => {
      const { check } = await import("./check.ts");
      invocation.exitCode = await check(file, command.optsWithGlobals<PolicyFlags>());
    });
}
