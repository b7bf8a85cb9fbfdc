import type { Command } from "commander";
import { exitCodesHelp } from "../../errors.ts";
import type { Invocation } from "../../program.ts";
import type { DoctorFlags } from "./doctor.ts";

const HELP = `
Looks at Node, the home, keys, the database, disk, the port or the Reins that runs, the
constitution, the roster, agents and their credentials, the sandbox, whether an
agent could reach Reins itself, and the browser. Changes nothing.

Examples:
  reins doctor
  reins doctor --json | jq '.findings[] | select(.state != "fine")'`;

/** Declares `reins doctor`. */
export function declareDoctor(program: Command, invocation: Invocation): void {
  program
    .command("doctor")
    .summary("look whether everything is well, and how to mend what is not")
    .description(
      "Looks whether this machine and this home have what Reins needs, and says how to mend what is amiss.",
    )
    .option("--home <folder>", "the home folder")
    .option("--json", "print the findings as JSON")
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({ done: "nothing is wrong", failed: "something is", usage: "wrong usage" }),
    )
    .action(async (_, command: Command) => {
      const { doctor } = await import("./doctor.ts");
      invocation.exitCode = await doctor(command.optsWithGlobals<DoctorFlags>());
    });
}
