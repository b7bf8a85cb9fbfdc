import type { Checkpoint } from "@reins/ledger";
import { CliError } from "../errors/cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { printableLine } from "../printable.ts";

/** The ledger does not continue what it was when it was last seen: somebody took entries away or rewrote them. */
export class SeenMismatch extends CliError {
  constructor(message: string, seen: Checkpoint, found: Checkpoint | undefined, file: string) {
    super(message, {
      next: [
        `Seen before: ${describe(seen)}`,
        `Found now:   ${found ? describe(found) : "no checkpoint at all"}`,
        "To see what is wrong with it, run: reins ledger verify",
        `If you went back to an older copy on purpose, remove what was kept and run the command again: ${file}`,
      ].join("\n"),
      exitCode: EXIT.failed,
    });
  }
}

function describe({ origin, size, root }: Checkpoint): string {
  return printableLine(`${origin}, ${size} entries, root ${Buffer.from(root).toString("base64")}`);
}
