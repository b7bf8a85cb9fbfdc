import {
  type AnnouncedKey,
  announcedKeys,
  type LedgerReader,
  type PlacedEntry,
  proveEntry,
  readCheckpoint,
  type Sessions,
} from "@reins/ledger";
import { type CommandResult, command, group, HOME } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { writeNewFile } from "../../files.ts";
import { keysIn } from "../../home.ts";
import { hasDatabase } from "../../home-database.ts";
import { ledgerError, noLedger } from "../../ledger/ledger-error.ts";
import { READING, readLedger, WRITING, WritableLedger } from "../../ledger/open-ledger.ts";
import { SeenCheckpoints } from "../../ledger/seen-checkpoints.ts";
import { count, type Notice, printableJson, printableLine } from "../../output.ts";
import { logCommand } from "./log.ts";
import { exportCommand, importCommand } from "./transfer.ts";
import { verifyCommand } from "./verify.ts";

const RECENT = 5;

const showCommand = command({
  summary: "show the name, size and keys of the ledger",
  description: "Shows the ledger's name, size, newest checkpoint, keys and most recent sessions.",
  inputs: { home: HOME, json: ["--json", "print it as JSON"] },
  examples: ["reins ledger show", "reins ledger show --json | jq .size"],
  codes: READING,
  async run(flags) {
    const json = await readLedger(flags, summaryOf);
    return { json, text: () => describeSummary(json) };
  },
});

const checkpointCommand = command({
  summary: "print the newest signed checkpoint",
  description:
    "Prints the newest checkpoint: a signed note of the ledger's name, its size and the root of its tree.",
  inputs: { home: HOME, json: ["--json", "print it as JSON, with the key that signs it"] },
  note: "Keep it outside of the home: it shows later whether the ledger was shortened or rewritten.",
  examples: [
    "reins ledger checkpoint > today.note",
    "reins ledger verify --seen today.note             on a later day",
  ],
  codes: READING,
  run: (flags) =>
    readLedger(flags, async (ledger) => {
      const { note } = await ledger.checkpoint();
      const { origin, size, root } = readCheckpoint(note);
      const json = { origin, size, root: Buffer.from(root).toString("base64"), log_key: ledger.logKey, note };
      return { json, text: () => note };
    }),
});

async function summaryOf(ledger: LedgerReader, home: string): Promise<Summary> {
  const { note } = await ledger.checkpoint();
  const { size, root } = readCheckpoint(note);
  const [newest] = await ledger.read({ order: "newest", limit: 1 });
  const { count, recent } = await ledger.sessions(RECENT);
  return {
    home,
    origin: ledger.origin,
    log_key: ledger.logKey,
    size: newest ? newest.seq + 1 : 0,
    newest: newest?.entry.timestamp ?? null,
    checkpoint: { size, root: Buffer.from(root).toString("base64"), note },
    sessions: { count, recent },
    keys: await announcedKeys(ledger),
  };
}

export interface Summary {
  readonly home: string;
  readonly origin: string;
  readonly log_key: string;
  readonly size: number;
  readonly newest: string | null;
  readonly checkpoint: { readonly size: number; readonly root: string; readonly note: string };
  readonly sessions: Sessions;
  readonly keys: readonly AnnouncedKey[];
}

export function describeSummary(summary: Summary): string {
  const { origin, home, log_key, size, newest, checkpoint, sessions, keys } = summary;
  const uncovered = size - checkpoint.size;
  const rows: [string, string][] = [
    ["ledger", origin],
    ["home", home],
    ["log key", log_key],
    ["entries", `${count(size)}${newest === null ? "" : `, the newest of ${newest}`}`],
    [
      "checkpoint",
      uncovered > 0 ? `${count(checkpoint.size)} entries; ${uncovered} wait for the next` : "covers them all",
    ],
    ["root", checkpoint.root],
    ["sessions", count(sessions.count)],
    ...sessions.recent.map(({ entity_id, timestamp }): [string, string] => [
      "",
      `${timestamp}  ${entity_id}`,
    ]),
    ["keys", keysOf(keys)],
  ];
  return rows.map(([name, text]) => `${name.padEnd(12)}${printableLine(text)}\n`).join("");
}

function keysOf(keys: readonly AnnouncedKey[]): string {
  const active = keys.filter(({ retired_at }) => retired_at === null);
  const holders = [...new Set(active.map(({ holder }) => holder))];
  const retired = keys.length - active.length;
  return `${holders.join(", ")}${retired > 0 ? `; ${retired} retired` : ""}`;
}

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

const keysCommand = command({
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

const CODES = { ...READING, failed: `there is no such entry; ${READING.failed}` };

const getCommand = command({
  summary: "print one entry",
  description: "Prints an entry and its position in the ledger as JSON.",
  inputs: {
    prefix: ["<cid>", "its content id, or the beginning of it", { read: readCidPrefix }],
    home: HOME,
    json: ["--json", "print it on one line"],
  },
  note: "Private content is shown as a reference, and sealed content stays sealed.",
  examples: [
    "reins ledger get 3f2a9c41d07b                     any unambiguous beginning",
    "reins ledger get 3f2a9c41d07b --json | jq .entry.payload",
  ],
  codes: CODES,
  async run({ prefix, ...flags }) {
    const json = await readLedger(flags, (ledger) => findEntry(ledger, prefix));
    return { json, text: () => `${printableJson(json)}\n` };
  },
});

const proveCommand = command({
  summary: "write a proof that an entry is in the ledger",
  description: "Writes a self-contained proof file.",
  inputs: {
    prefix: ["<cid>", "the entry's content id, or the beginning of it", { read: readCidPrefix }],
    home: HOME,
    output: ["-o, --output <file>", "where to write it (default: stdout)"],
  },
  note: `The proof contains the entry, its path to the root of a signed checkpoint, and the announcement of the key that signed
it. Checking it needs nothing else: reins ledger verify <file>`,
  examples: [
    "reins ledger prove 3f2a9c41d07b -o verdict.proof.json",
    "reins ledger prove 3f2a9c41d07b > verdict.proof.json",
  ],
  codes: CODES,
  async run({ prefix, home, output }, { notice }) {
    const proof = await readLedger({ home }, async (ledger) => {
      const { entry } = await findEntry(ledger, prefix);
      return proveEntry(ledger, entry.cid);
    });
    const text = `${JSON.stringify(proof)}\n`;
    if (output === undefined || output === "-") return { text: () => text };
    await writeNewFile(output, [text]);
    notice(`The proof of ${proof.entry.cid} is in ${output}.`);
    return undefined;
  },
});

/** Shorter prefixes are likely a mistake. */
const SHORTEST = 4;
const SHOWN = 5;

export function readCidPrefix(text: string): string {
  const prefix = text.toLowerCase();
  if (/^[0-9a-f]{4,64}$/.test(prefix)) return prefix;
  throw new CliError(`"${text}" is not a content id.`, {
    next: `Give its 64 hexadecimal digits, or at least the first ${SHORTEST}; reins ledger log shows them.`,
  });
}

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

const DESCRIPTION =
  "The tamper-evident record of decisions and events. Reading works while Reins runs.\n" +
  "The last checkpoint seen of each ledger is kept in the user's state folder; every command checks against it.";

export const ledgerCommand = group(DESCRIPTION, {
  show: showCommand,
  log: logCommand,
  get: getCommand,
  verify: verifyCommand,
  prove: proveCommand,
  checkpoint: checkpointCommand,
  export: exportCommand,
  import: importCommand,
  keys: keysCommand,
});
