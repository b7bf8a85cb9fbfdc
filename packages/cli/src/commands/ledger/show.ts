import {
  type AnnouncedKey,
  announcedKeys,
  type LedgerReader,
  readCheckpoint,
  type Sessions,
} from "@reins/ledger";
import { command, HOME } from "../../command.ts";
import { READING, readLedger } from "../../ledger/open-ledger.ts";
import { count, printableLine } from "../../printable.ts";

const RECENT = 5;

export const showCommand = command({
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

export const checkpointCommand = command({
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
