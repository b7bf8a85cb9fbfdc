import type { Command } from "commander";
import { OPERATOR_CODES, operatorFlags } from "../../client/connect.ts";
import { exitCodesHelp } from "../../errors.ts";
import type { OpenFlags } from "./open.ts";

const HELP = `
Examples:
  reins open
  reins open --print                 # on a machine without a browser: open it elsewhere`;

/** Declares `reins open`. */
export function declareOpen(program: Command): void {
  const open = program
    .command("open")
    .summary("open the page in a browser")
    .description(
      "Prints an address that lets a browser in, once and within ten minutes, as whoever asks for it; on a desktop it " +
        "is opened, too.",
    )
    .option("--print", "print the address only");
  operatorFlags(open)
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (_, command: Command) => {
      const { open } = await import("./open.ts");
      await open(command.optsWithGlobals<OpenFlags>());
    });
}
