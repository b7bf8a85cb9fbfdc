import type { Checkpoint } from "@reins/ledger";
import { EXIT } from "../exit-codes.ts";
import { printableLine } from "../printable.ts";
import { ACCEPT_LOSS, DamagedHome } from "./damaged-home.ts";

/** The ledger does not continue what it was when it was last seen: somebody took entries away or rewrote them. */
export class SeenMismatch extends DamagedHome {
  constructor(message: string, seen: Checkpoint, found: Checkpoint | undefined, file: string) {
    super(message, {
      next: [
        `Seen before: ${describe(seen)}`,
        `Found now:   ${found ? describe(found) : "no checkpoint at all"}`,
        "To see what is wrong with it, run: reins ledger verify",
        `What was seen is kept in ${file}`,
        ACCEPT_LOSS,
      ].join("\n"),
      exitCode: EXIT.failed,
    });
  }
}

function describe({ origin, size, root }: Checkpoint): string {
  return printableLine(`${origin}, ${size} entries, root ${Buffer.from(root).toString("base64")}`);
}
