import { change, type Store } from "@reins/store";
import { z } from "zod";
import { openCheckpoint } from "../checkpoint.ts";
import { LedgerError } from "../ledger-error.ts";
import { ledgerTables, type StoredCheckpoint } from "../tables/tables.ts";

const Line = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("header"),
    format: z.literal("reins-ledger/1"),
    origin: z.string().min(1),
    log_key: z.string().min(1),
    size: z.int().min(0),
  }),
  z.object({ kind: z.literal("entry"), seq: z.int().min(0), entry: z.unknown() }),
  z.object({ kind: z.literal("checkpoint"), note: z.string() }),
  z.object({ kind: z.literal("artifact"), digest: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.base64() }),
  z.object({ kind: z.literal("end"), size: z.int().min(0) }),
]);
type Line = z.infer<typeof Line>;

/** Keeps private content that comes with an import. */
interface ArtifactWriter {
  writeRaw(digest: string, bytes: Uint8Array): Promise<void>;
}

/** What an import did. */
export interface Imported {
  readonly origin: string;
  /** Entries in the import, and how many of them were new here. */
  readonly entries: number;
  readonly added: number;
}

const PAGE = 1_000;
/** How long the lines of entries that wait for the checkpoint behind them may be together. */
const MOST_WAITING = 256 * 1024 * 1024;

/**
 * Takes over an exported ledger: into an empty database, or into one that holds its beginning. Every entry's content id,
 * its chain and the checkpoint that covers it are checked on the way in; what entries say, and who signed them, is for
 * the verifier to judge. A database that was not empty takes no entry before the checkpoint that covers it has come:
 * should the ledger be its own, it would sign the entry itself.
 */
export async function importLines(
  store: Store,
  lines: AsyncIterable<string>,
  artifacts?: ArtifactWriter,
): Promise<Imported> {
  let header: Extract<Line, { kind: "header" }> | undefined;
  let ended = false;
  let [count, added, covered, waiting] = [0, 0, 0, 0];
  let isNew = false;
  let entries: { seq: number; entry: unknown }[] = [];
  let checkpoints: StoredCheckpoint[] = [];
  const flush = async () => {
    const [fresh] = await store.commit([change(ledgerTables, "import", { entries, checkpoints })]);
    added += fresh;
    [entries, checkpoints, waiting] = [[], [], 0];
  };
  for await (const text of lines) {
    const parsed = parseLine(text, count);
    if (ended) throw new LedgerError("corrupt", "the import has lines after its end");
    if (!header) {
      if (parsed.kind !== "header")
        throw new LedgerError("corrupt", "the import does not begin with a header");
      header = parsed;
      isNew = await describe(store, header);
      continue;
    }
    switch (parsed.kind) {
      case "header":
        throw new LedgerError("corrupt", "the import has a second header");
      case "entry":
        entries.push({ seq: parsed.seq, entry: parsed.entry });
        count += 1;
        waiting += text.length;
        if (isNew && entries.length >= PAGE) await flush();
        else if (waiting > MOST_WAITING) throw uncovered(covered, count, "import it into an empty home");
        break;
      case "checkpoint":
        covered = openCheckpoint(parsed.note, header.log_key).size;
        if (covered !== count)
          throw new LedgerError(
            "corrupt",
            `the checkpoint of size ${covered} stands behind ${count} entries`,
          );
        checkpoints.push({ size: covered, note: parsed.note });
        if (entries.length >= PAGE) await flush();
        break;
      case "artifact":
        await artifacts?.writeRaw(parsed.digest, Buffer.from(parsed.bytes, "base64"));
        break;
      case "end":
        ended = true;
    }
  }
  if (!header || !ended || count !== header.size) {
    throw new LedgerError(
      "corrupt",
      `the import is cut off after ${count} of ${header?.size ?? "?"} entries`,
    );
  }
  if (covered < count) throw uncovered(covered, count, "anybody could have added them");
  await flush();
  return { origin: header.origin, entries: count, added };
}

function uncovered(covered: number, count: number, advice: string): LedgerError {
  const text = `no checkpoint covers the entries ${covered} to ${count - 1}: ${advice}`;
  return new LedgerError("corrupt", text);
}

function parseLine(text: string, count: number): Line {
  try {
    return Line.parse(JSON.parse(text));
  } catch (error) {
    throw new LedgerError("corrupt", `a line after entry ${count - 1} cannot be read`, { cause: error });
  }
}

/** An empty database takes the name of the import, any other must have it already; returns whether it was empty. */
async function describe(
  store: Store,
  { origin, log_key }: { origin: string; log_key: string },
): Promise<boolean> {
  const name = await store.query(ledgerTables, "meta", { name: "origin" });
  const key = await store.query(ledgerTables, "meta", { name: "log_key" });
  if (name === undefined) await store.commit([change(ledgerTables, "describe", { origin, log_key })]);
  else if (name !== origin || key !== log_key) {
    throw new LedgerError("conflict", `this database holds the ledger ${name}, the import is of ${origin}`);
  }
  return name === undefined;
}
