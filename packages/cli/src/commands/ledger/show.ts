import {
  type AnnouncedKey,
  announcedKeys,
  type LedgerReader,
  readCheckpoint,
  type Sessions,
} from "@reins/ledger";
import type { Command } from "commander";
import { helpText } from "../../errors.ts";
import { type LedgerFlags, READING, readLedger } from "../../ledger/open-ledger.ts";
import { print } from "../../output.ts";
import { printableLine } from "../../printable.ts";

const HELP = `
Examples:
  reins ledger show
  reins ledger show --json | jq .size`;

export function declareShow(ledger: Command): void {
  ledger
    .command("show")
    .summary("show the name, size and keys of the ledger")
    .description("Shows the ledger's name, size, newest checkpoint, keys and most recent sessions.")
    .option("--home <folder>", "the home folder")
    .option("--json", "print it as JSON")
    .addHelpText("after", helpText(HELP, READING))
    .action((_, command: Command) => show(command.optsWithGlobals<LedgerFlags>()));
}

const RECENT = 5;

async function show(flags: LedgerFlags): Promise<void> {
  const summary = await readLedger(flags, summaryOf);
  print(flags.json ? `${JSON.stringify(summary)}\n` : describeSummary(summary));
}

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

function count(number: number): string {
  return number.toLocaleString("en-US");
}

const CHECKPOINT_HELP = `
Keep it outside of the home: it shows later whether the ledger was shortened or rewritten.

Examples:
  reins ledger checkpoint > today.note
  reins ledger verify --seen today.note             on a later day`;

export function declareCheckpoint(ledger: Command): void {
  ledger
    .command("checkpoint")
    .summary("print the newest signed checkpoint")
    .description(
      "Prints the newest checkpoint: a signed note of the ledger's name, its size and the root of its tree.",
    )
    .option("--home <folder>", "the home folder")
    .option("--json", "print it as JSON, with the key that signs it")
    .addHelpText("after", helpText(CHECKPOINT_HELP, READING))
    .action((_, command: Command) => checkpoint(command.optsWithGlobals<LedgerFlags>()));
}

async function checkpoint(flags: LedgerFlags): Promise<void> {
  const text = await readLedger(flags, async (ledger) => {
    const { note } = await ledger.checkpoint();
    if (!flags.json) return note;
    const { origin, size, root } = readCheckpoint(note);
    const fields = { origin, size, root: Buffer.from(root).toString("base64"), log_key: ledger.logKey, note };
    return `${JSON.stringify(fields)}\n`;
  });
  print(text);
}
