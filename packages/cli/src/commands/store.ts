import { mkdir, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { LedgerError, LedgerReader, ledgerTables } from "@reins/ledger";
import { homeTables } from "@reins/server/tables";
import { isPostgresAddress, StoreError, type StoreReader, shownAddress } from "@reins/store";
import { type CopiedStore, copyStore, type StoreLocation } from "@reins/store/copy";
import { command } from "../command.ts";
import { CliError, EXIT, isNotFound } from "../errors.ts";
import { realDatabase } from "../home.ts";
import { readAddress } from "../home-database.ts";
import { verifyStore } from "./ledger/verify.ts";

const copyCommand = command({
  summary: "copy the state of a home to another database",
  description: "Copies everything from one database to an empty one, and verifies the ledger of the copy.",
  inputs: {
    from: ["<from>", "the database to copy, which no Reins may use meanwhile"],
    to: ["<to>", "where to; nothing may be there yet"],
    json: ["--json", "print what was copied as JSON"],
  },
  note: `Each is one of
  a folder               a home: the database reins.db in it
  a file                 a database in SQLite
  postgres://…           a database in PostgreSQL; without a password, PGPASSWORD or .pgpass counts
  @file                  a file with such an address, so that other users of this machine cannot read it

Keys, artifacts, the constitution and the other files stay in the home, which goes on with the copy when store in its
reins.yaml (or REINS_STORE) names it. Do not go on with both: they would be two ledgers of the same name.`,
  examples: [
    "reins store copy ~/.local/share/reins @/run/secrets/reins-store",
    "reins store copy postgres://reins@db.example.com/reins ./copy.db",
  ],
  codes: {
    done: "everything is copied, and the ledger of the copy is valid",
    failed: "it is not, or the ledger is invalid; the copy is not used",
    usage: "wrong usage, or the target is not empty",
    unreachable: "a database cannot be reached or read",
    taken: "a Reins uses the database",
  },
  async run({ from, to }) {
    const source = await locationOf(from, "<from>");
    const target = await locationOf(to, "<to>");
    try {
      const copied = await copyStore({ from: source, to: target, tables: homeTables });
      const entries = await verifyCopy(copied);
      await copied.complete();
      const json = { rows: copied.rows, entries };
      const text = () =>
        `${copied.rows} rows are in ${shown(target)}; the ledger has ${entries} entries, and is valid\n`;
      return { json, text };
    } catch (error) {
      throw copyError(error);
    }
  },
});

export const storeCommand = command({
  description: "Moves the state of a home between SQLite and PostgreSQL; see docs/scale.md.",
  codes: { done: "done", usage: "wrong usage" },
  subcommands: { copy: copyCommand },
  run: async () => ({
    text: () => "Use reins store copy <from> <to>; --help describes it.\n",
    exitCode: EXIT.usage,
  }),
});

async function locationOf(text: string, source: string): Promise<StoreLocation> {
  if (text.startsWith("@") || isPostgresAddress(text)) return { address: await readAddress(text, source) };
  const path = resolve(text);
  const found = await stat(path).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (found?.isDirectory()) return { path: await realDatabase(path) };
  if (found || path.endsWith(".db")) return { path };
  if (source === "<from>")
    throw new CliError(`There is no database at ${path}.`, {
      next: "Name a home, a file, or postgres://…",
      exitCode: EXIT.unreachable,
    });
  await mkdir(path, { recursive: true, mode: 0o700 });
  return { path: await realDatabase(path) };
}

/** Returns how many entries the ledger of a copy has, all of them valid. */
async function verifyCopy(copied: CopiedStore): Promise<number> {
  const store = await copied.open([ledgerTables]);
  try {
    const entries = await entriesIn(store);
    const { ok, faults } = entries === 0 ? { ok: true, faults: [] } : await verifyStore(store);
    if (ok) return entries;
    throw new CliError(`The ledger of the copy is invalid: ${JSON.stringify(faults[0])}`, {
      next: "The copy is not used. Check the original: reins ledger verify",
      exitCode: EXIT.failed,
    });
  } finally {
    await store.close();
  }
}

async function entriesIn(store: StoreReader): Promise<number> {
  try {
    return await (await LedgerReader.of(store)).size();
  } catch (error) {
    if (error instanceof LedgerError && error.code === "not_found") return 0;
    throw error;
  }
}

function shown(location: StoreLocation): string {
  return "path" in location ? location.path : shownAddress(location.address);
}

const CODES: Partial<Record<StoreError["code"], readonly [exitCode: keyof typeof EXIT, next: string]>> = {
  invalid: ["usage", "Nothing was copied, or the copy is not used."],
  locked: ["taken", "Stop the Reins that uses it first."],
  older: ["unreachable", "Start this version of Reins once on it, which brings it up to date, and stop it."],
  newer: ["unreachable", "Use the version of Reins that wrote it, or a newer one."],
  unavailable: ["unreachable", "Check the address, and whether this machine reaches it."],
};

function copyError(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const [exitCode, next] = CODES[error.code] ?? ["failed", "The copy is not used; remove it and try again."];
  return new CliError(error.message, { next, exitCode: EXIT[exitCode], cause: error });
}
