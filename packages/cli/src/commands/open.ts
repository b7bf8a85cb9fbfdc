import { accessOperations } from "@reins/api";
import type { Command } from "commander";
import { CLIENT_CODES, type ClientFlags, clientFlags, withClient } from "../client/connect.ts";
import { CliError, EXIT, helpText } from "../errors.ts";
import { print } from "../output.ts";
import { openInBrowser } from "../serving/browser.ts";

const HELP = `
Examples:
  reins open
  reins open --print                 # on a machine without a browser: open it elsewhere`;

export function declareOpen(command: Command): void {
  clientFlags(
    command
      .description(
        "Prints an address that logs a browser in, once and within ten minutes, as the caller; on a desktop it " +
          "is opened, too.",
      )
      .option("--print", "print the address only"),
  )
    .addHelpText("after", helpText(HELP, CLIENT_CODES))
    .action((_, command: Command) => open(command.optsWithGlobals<OpenFlags>()));
}

interface OpenFlags extends ClientFlags {
  readonly print?: boolean;
}

export async function open(flags: OpenFlags): Promise<void> {
  const { addresses } = await withClient(flags, (client) => client.call(accessOperations.createLoginCode));
  const [address] = addresses;
  if (address === undefined)
    throw new CliError("No Reins listens for a browser on this home.", {
      next: "Start one: reins up",
      exitCode: EXIT.unreachable,
    });
  print(flags.json ? `${JSON.stringify({ address })}\n` : `${address}\n`);
  if (!flags.print && !flags.json) await openInBrowser(address, process.env);
}
