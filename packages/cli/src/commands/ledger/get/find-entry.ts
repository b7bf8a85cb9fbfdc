import type { LedgerReader, PlacedEntry } from "@reins/ledger";
import { CliError, EXIT } from "../../../errors.ts";

/** Shorter beginnings are more likely a slip than meant. */
const SHORTEST = 4;
const SHOWN = 5;

/** The beginning of a content id as it was written on the command line. */
export function readCidPrefix(text: string): string {
  const prefix = text.toLowerCase();
  if (/^[0-9a-f]{4,64}$/.test(prefix)) return prefix;
  throw new CliError(`"${text}" is no content id.`, {
    next: `Give its 64 hexadecimal digits, or at least the first ${SHORTEST}; reins ledger log shows them.`,
  });
}

/** The one entry whose content id begins so. */
export async function findEntry(ledger: Pick<LedgerReader, "find">, prefix: string): Promise<PlacedEntry> {
  const [found, ...others] = await ledger.find(prefix, SHOWN + 1);
  if (!found) {
    throw new CliError(`There is no entry ${prefix}.`, {
      next: "To see which there are, run: reins ledger log",
      exitCode: EXIT.failed,
    });
  }
  if (others.length === 0) return found;
  const shown = [found, ...others].slice(0, SHOWN).map(({ entry }) => entry.cid);
  throw new CliError(`More than one entry begins with ${prefix}.`, {
    next: [...shown, ...(others.length >= SHOWN ? ["…"] : []), "Give more of it."].join("\n"),
    exitCode: EXIT.failed,
  });
}
