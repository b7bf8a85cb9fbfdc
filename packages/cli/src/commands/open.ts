import { accessOperations } from "@reins/api";
import { CLIENT, CLIENT_CODES, withClient } from "../client/connect.ts";
import { command } from "../command.ts";
import { CliError, EXIT } from "../errors.ts";
import { print } from "../output.ts";
import { openInBrowser } from "../serving/address.ts";

/** Logs a browser in at the page. */
export const openCommand = command({
  description:
    "Prints an address that logs a browser in, once and within ten minutes, as the caller; on a desktop it " +
    "is opened, too.",
  inputs: { printOnly: ["--print", "print the address only"], ...CLIENT },
  examples: [
    "reins open",
    "reins open --print                 # on a machine without a browser: open it elsewhere",
  ],
  codes: CLIENT_CODES,
  async run({ printOnly, ...flags }) {
    const { addresses } = await withClient(flags, (client) => client.call(accessOperations.createLoginCode));
    const [address] = addresses;
    if (address === undefined)
      throw new CliError("No Reins listens for a browser on this home.", {
        next: "Start one: reins up",
        exitCode: EXIT.unreachable,
      });
    print(flags.json ? `${JSON.stringify({ address })}\n` : `${address}\n`);
    if (!printOnly && !flags.json) await openInBrowser(address, process.env);
  },
});
