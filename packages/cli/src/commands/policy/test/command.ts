import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import type { Invocation } from "../../../program.ts";
import type { PolicyFlags } from "../constitution-file.ts";
import { LOOKING } from "../exit-codes.ts";

const HELP = `
Tests stand in the file itself, under tests:
  - name: a push
    given: { tool: Bash, effects: [{ kind: exec, command: git }] }
    expect: ask

Examples:
  reins policy test
  reins policy test draft.yaml
  reins policy test draft.yaml --json | jq '.tests[] | select(.passed | not)'`;

/** Declares `reins policy test`. */
export function declareTest(policy: Command, invocation: Invocation): void {
  policy
    .command("test")
    .summary("run the tests of a constitution")
    .description("Runs the tests that stand in a constitution, and lists each with its outcome.")
    .argument("[file]", "the constitution (default: constitution.yaml of the home)")
    .option("--home <folder>", "the home folder")
    .option("--tenant <name>", "whose constitution, when no file is named (default: default)")
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({ ...LOOKING, done: "all passed", failed: "a test failed, or the file is not fine" }),
    )
    .action(async (file: string | undefined, _, command: Command) => {
      const { test } = await import("./test.ts");
      invocation.exitCode = await test(file, command.optsWithGlobals<PolicyFlags>());
    });
}
