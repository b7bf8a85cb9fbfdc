import { existsSync } from "node:fs";
import { type AnnouncedKey, announcedKeys } from "@reins/ledger";
import type { Command } from "commander";
import { CliError, EXIT, helpText } from "../../errors.ts";
import { databaseIn, homeFolder, keysIn } from "../../home.ts";
import { ledgerError, noLedger } from "../../ledger/ledger-error.ts";
import { type LedgerFlags, READING, readLedger, WRITING, WritableLedger } from "../../ledger/open-ledger.ts";
import { SeenCheckpoints } from "../../ledger/seen-checkpoints.ts";
import { noticeOnStderr, print } from "../../output.ts";
import { printableLine } from "../../printable.ts";

const HELP = `
Reins holds one key for itself and one for each agent and person who signs; a retired key signs nothing more, and its
signatures stay valid. The log's key signs checkpoints. It identifies the ledger, so it never changes.

Examples:
  reins ledger keys
  reins ledger keys --json | jq -r .log_key         for a verifier: reins ledger verify --key`;

const ROTATE_HELP = `
Examples:
  reins ledger keys rotate reins:system
  reins ledger keys rotate reed
  reins ledger keys rotate reins:vault              the key that seals approvals; used by the next reins up`;

export function declareKeys(ledger: Command): void {
  const group = ledger
    .command("keys")
    .summary("list the signing keys, or rotate one")
    .description("Lists the keys that the ledger announces, and the key that signs its checkpoints.")
    .option("--home <folder>", "the home folder")
    .option("--json", "print them as JSON")
    .addHelpText("after", helpText(HELP, READING))
    .action((_, command: Command) => keys(command.optsWithGlobals<LedgerFlags>()));
  declareRotate(group);
}

function declareRotate(keys: Command): void {
  keys
    .command("rotate")
    .summary("rotate the key of a holder")
    .description(
      "Creates a new key for a holder, and records that the old one retired. Reins must not run meanwhile.",
    )
    .argument("<holder>", "whose key: an agent, a person, reins:system or reins:vault")
    .option("--home <folder>", "the home folder")
    .option("--json", "print the new key as JSON")
    .addHelpText(
      "after",
      helpText(ROTATE_HELP, { ...WRITING, failed: `the holder has no key; ${WRITING.failed}` }),
    )
    .action((holder: string, _, command: Command) => rotate(holder, command.optsWithGlobals<LedgerFlags>()));
}

async function keys(flags: LedgerFlags): Promise<void> {
  const text = await readLedger(flags, async (ledger) => {
    const all = await announcedKeys(ledger);
    if (flags.json) return `${JSON.stringify({ log_key: ledger.logKey, keys: all })}\n`;
    return `checkpoints are signed with ${printableLine(ledger.logKey)}\n\n${describeKeys(all)}`;
  });
  print(text);
}

function describeKeys(keys: readonly AnnouncedKey[]): string {
  const width = Math.max(0, ...keys.map(({ holder }) => printableLine(holder).length));
  return keys.map((key) => `${lineOf(key, width)}\n`).join("");
}

function lineOf({ key_id, holder, added_at, retired_at }: AnnouncedKey, width: number): string {
  const until = retired_at === null ? "signs" : `retired ${retired_at}`;
  return `${key_id}  ${printableLine(holder).padEnd(width)}  since ${added_at}  ${until}`;
}

/** The holder of the sealing key. It signs nothing, so the ledger does not list it. */
const VAULT = "reins:vault";

async function rotate(holder: string, flags: LedgerFlags): Promise<void> {
  const home = homeFolder(flags.home, process.env);
  if (!existsSync(databaseIn(home))) throw noLedger(home);
  if (holder === VAULT) return rotateVault(home, flags);
  try {
    const keys = await rotateIn(home, holder, flags);
    print(flags.json ? `${JSON.stringify({ keys })}\n` : describeKeys(keys));
  } catch (error) {
    throw ledgerError(error, home);
  }
}

async function rotateVault(home: string, { json }: LedgerFlags): Promise<void> {
  const { Vault } = await import("@reins/supervisor");
  const key_id = await Vault.rotate(keysIn(home));
  const text = `${key_id}  ${VAULT}  from the next start on, which seals everything again and deletes the old one\n`;
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
  return new CliError(`This home holds a read-only copy of the ledger ${origin}.`, {
    next: "Rotate keys in the home where that ledger was created.",
    exitCode: EXIT.failed,
  });
}
