import { type AnnouncedKey, announcedKeys } from "@reins/ledger";
import { type CommandResult, command, HOME } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { keysIn } from "../../home.ts";
import { hasDatabase } from "../../home-database.ts";
import { ledgerError, noLedger } from "../../ledger/ledger-error.ts";
import { READING, readLedger, WRITING, WritableLedger } from "../../ledger/open-ledger.ts";
import { SeenCheckpoints } from "../../ledger/seen-checkpoints.ts";
import type { Notice } from "../../output.ts";
import { printableLine } from "../../printable.ts";

const rotateCommand = command({
  summary: "rotate the key of a holder",
  description:
    "Creates a new key for a holder, and records that the old one retired. Reins must not run meanwhile.",
  inputs: {
    holder: ["<holder>", "whose key: an agent, a person, reins:system or reins:vault"],
    home: HOME,
    json: ["--json", "print the new key as JSON"],
  },
  examples: [
    "reins ledger keys rotate reins:system",
    "reins ledger keys rotate reed",
    "reins ledger keys rotate reins:vault              the key that seals approvals; used by the next reins up",
  ],
  codes: { ...WRITING, failed: `the holder has no key; ${WRITING.failed}` },
  async run({ holder, home }, { notice }) {
    if (!(await hasDatabase(home))) throw noLedger(home);
    if (holder === VAULT) return rotateVault(home);
    try {
      const keys = await rotateIn(home, holder, notice);
      return { json: { keys }, text: () => describeKeys(keys) };
    } catch (error) {
      throw ledgerError(error, home);
    }
  },
});

export const keysCommand = command({
  summary: "list the signing keys, or rotate one",
  description: "Lists the keys that the ledger announces, and the key that signs its checkpoints.",
  inputs: { home: HOME, json: ["--json", "print them as JSON"] },
  note: `Reins holds one key for itself and one for each agent and person who signs; a retired key signs nothing more, and its
signatures stay valid. The log's key signs checkpoints. It identifies the ledger, so it never changes.`,
  examples: [
    "reins ledger keys",
    "reins ledger keys --json | jq -r .log_key         for a verifier: reins ledger verify --key",
  ],
  codes: READING,
  subcommands: { rotate: rotateCommand },
  run: (flags) =>
    readLedger(flags, async (ledger) => {
      const { logKey: log_key } = ledger;
      const keys = await announcedKeys(ledger);
      const text = () => `checkpoints are signed with ${printableLine(log_key)}\n\n${describeKeys(keys)}`;
      return { json: { log_key, keys }, text };
    }),
});

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

async function rotateVault(home: string): Promise<CommandResult> {
  const { Vault } = await import("@reins/supervisor");
  const key_id = await Vault.rotate(keysIn(home));
  const text = `${key_id}  ${VAULT}  from the next start on, which seals everything again and deletes the old one\n`;
  return { json: { keys: [{ key_id, holder: VAULT }] }, text: () => text };
}

async function rotateIn(home: string, holder: string, notice: Notice): Promise<AnnouncedKey[]> {
  const seen = SeenCheckpoints.ofUser(process.env);
  const writable = await WritableLedger.open({ home, seen, notice });
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
