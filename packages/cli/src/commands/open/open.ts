import { accessOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../client/connect.ts";
import { CliError, EXIT } from "../../errors.ts";
import { print } from "../../output.ts";
import { openInBrowser } from "../../serving/browser.ts";

/** The flags of `reins open` as they were written. */
export interface OpenFlags extends OperatorFlags {
  readonly print?: boolean;
}

/** Gets an address that lets a browser in, prints it and, on a desktop, opens it. */
export async function open(flags: OpenFlags): Promise<void> {
  const { addresses } = await withOperator(flags, (operator) =>
    operator.ask(accessOperations.createLoginCode),
  );
  const [address] = addresses;
  if (address === undefined)
    throw new CliError("No Reins listens for a browser on this home.", {
      next: "Start one: reins up",
      exitCode: EXIT.unreachable,
    });
  print(flags.json ? `${JSON.stringify({ address })}\n` : `${address}\n`);
  if (!flags.print && !flags.json) await openInBrowser(address, process.env);
}
