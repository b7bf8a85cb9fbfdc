import { existsSync } from "node:fs";
import { type AnnouncedKey, announcedKeys } from "@reins/ledger";
import { CliError, EXIT } from "../../../errors.ts";
import { databaseIn, homeFolder, keysIn } from "../../../home.ts";
import { ledgerFault, noLedger } from "../../../ledger/ledger-error.ts";
import { type LedgerFlags, WritableLedger } from "../../../ledger/open-ledger.ts";
import { SeenCheckpoints } from "../../../ledger/seen-checkpoints.ts";
import { noticeOnStderr, print } from "../../../output.ts";
import { describeKeys } from "./keys.ts";

/** The holder of the key with which things are sealed. It signs nothing, so the ledger does not know it. */
const VAULT = "reins:vault";

/** Gives a holder a new key and prints the holder's keys. */
export async function rotate(holder: string, flags: LedgerFlags): Promise<void> {
  const home = homeFolder(flags.home, process.env);
  if (!existsSync(databaseIn(home))) throw noLedger(home);
  if (holder === VAULT) return rotateVault(home, flags);
  try {
    const keys = await rotateIn(home, holder, flags);
    print(flags.json ? `${JSON.stringify({ keys })}\n` : describeKeys(keys));
  } catch (error) {
    throw ledgerFault(error, home);
  }
}

async function rotateVault(home: string, { json }: LedgerFlags): Promise<void> {
  const { Vault } = await import("@reins/supervisor");
  const key_id = await Vault.rotate(keysIn(home));
  const text = `${key_id}  ${VAULT}  from the next start on, which seals everything with it and forgets the old one\n`;
  print(json ? `${JSON.stringify({ keys: [{ key_id, holder: VAULT }] })}\n` : text);
}

async function rotateIn(home: string, holder: string, { json }: LedgerFlags): Promise<AnnouncedKey[]> {
  const seen = SeenCheckpoints.ofUser(process.env);
  const writable = await WritableLedger.open({ home, seen, notice: noticeOnStderr(json) });
  try {
    if (writable.ledger.isMirror) throw isCopy(writable.ledger.origin);
    await writable.ledger.rotateKey(holder);
    return (await announcedKeys(writable.ledger)).filter((key) => key.holder === holder);
  } finally {
    await writable.close();
  }
}

function isCopy(origin: string): CliError {
  return new CliError(`This home holds a copy of the ledger ${origin}, which cannot be added to.`, {
    next: "Rotate keys in the home where that ledger was begun.",
    exitCode: EXIT.failed,
  });
}
