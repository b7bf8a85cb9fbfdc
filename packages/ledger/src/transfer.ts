import { isRecord } from "@reins/kit";
import { change, parseStored, type Store } from "@reins/store";
import { z } from "zod";
import { referenceIn } from "./artifacts/private-payload.ts";
import { entryOf } from "./canonical.ts";
import { openCheckpoint } from "./checkpoint.ts";
import { type Cid, LedgerEntry } from "./entry.ts";
import { announcedKeys } from "./keys/announced-keys.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerReader, PlacedEntry } from "./ledger-reader.ts";
import { ledgerTables, type StoredCheckpoint } from "./tables/tables.ts";

/** Reads private content as it is kept: salt, then content. */
interface ArtifactReader {
  readRaw(digest: string): Promise<Uint8Array | undefined>;
}

/** The digests of the private content that a payload refers to. */
function* privateDigests(payload: unknown): Generator<string> {
  const reference = referenceIn(payload);
  if (reference) yield reference.digest;
  else if (Array.isArray(payload)) for (const item of payload) yield* privateDigests(item);
  else if (isRecord(payload)) for (const member of Object.values(payload)) yield* privateDigests(member);
}

/** What goes along with the entries. */
interface ExportOptions {
  /** Where private content is kept; with it, what was not erased is exported too. */
  readonly artifacts?: ArtifactReader;
}

const PAGE = 1_000;

/**
 * The whole ledger as lines of `docs/ledger-format.md`, up to its newest checkpoint. Reads page by page, so it takes no
 * more memory for a long ledger than for a short one.
 */
export async function* exportLines(
  ledger: LedgerReader,
  options: ExportOptions = {},
): AsyncGenerator<string> {
  const { size } = await ledger.checkpoint();
  yield line({
    kind: "header",
    format: "reins-ledger/1",
    origin: ledger.origin,
    log_key: ledger.logKey,
    size,
  });
  let checkpoints = await ledger.checkpoints(0, PAGE);
  const exported = new Set<string>();
  for (let next = 0; next < size; ) {
    const page = await ledger.readStored({ after: next - 1, limit: Math.min(PAGE, size - next) });
    if (page.length === 0) break;
    for (const { seq, cid, body } of page) {
      yield `{"kind":"entry","seq":${seq},"entry":{"cid":"${cid}",${body.slice(1)}}\n`;
      if (options.artifacts) yield* artifactLines(entryOf(cid, body).payload, options.artifacts, exported);
      next = seq + 1;
      while (checkpoints[0]?.size === next) {
        yield line({ kind: "checkpoint", note: checkpoints[0].note });
        checkpoints.shift();
        if (checkpoints.length === 0) checkpoints = await ledger.checkpoints(next, PAGE);
      }
    }
  }
  yield line({ kind: "end", size });
}

/** The private content of a payload, each piece once in an export. */
async function* artifactLines(
  payload: unknown,
  artifacts: ArtifactReader,
  exported: Set<string>,
): AsyncGenerator<string> {
  for (const digest of privateDigests(payload)) {
    const bytes = exported.has(digest) ? undefined : await artifacts.readRaw(digest);
    exported.add(digest);
    if (bytes) yield line({ kind: "artifact", digest, bytes: Buffer.from(bytes).toString("base64") });
  }
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

const Line = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("header"),
    format: z.literal("reins-ledger/1"),
    origin: z.string().min(1),
    log_key: z.string().min(1),
    size: z.int().min(0),
  }),
  z.object({ kind: z.literal("entry"), seq: z.int().min(0), entry: LedgerEntry }),
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
  let entries: { seq: number; entry: LedgerEntry }[] = [];
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
  if (covered < count) throw uncovered(covered, count, "anyone could have added them");
  await flush();
  return { origin: header.origin, entries: count, added };
}

function uncovered(covered: number, count: number, advice: string): LedgerError {
  const text = `no checkpoint covers the entries ${covered} to ${count - 1}: ${advice}`;
  return new LedgerError("corrupt", text);
}

function parseLine(text: string, count: number): Line {
  try {
    return Line.parse(parseStored(text));
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

/** An entry and the hashes from it to the root of a checkpoint. */
interface Proven {
  readonly entry: LedgerEntry;
  readonly index: number;
  readonly hashes: readonly string[];
}

/** Proves that an entry is in a ledger, with no ledger at hand. */
interface ProofFile extends Proven {
  readonly format: "reins-proof/1";
  readonly log_key: string;
  readonly checkpoint: string;
  /** The announcement of the key that signed the entry. */
  readonly key: Proven | null;
}

/** Makes the proof of an entry against the newest checkpoint. */
export async function proveEntry(ledger: LedgerReader, cid: Cid): Promise<ProofFile> {
  const found = await ledger.get(cid);
  if (!found) throw new LedgerError("not_found", `there is no entry ${cid}`);
  const { size, note } = await ledger.checkpoint();
  const announcement = await announcementOf(ledger, found.entry);
  return {
    format: "reins-proof/1",
    log_key: ledger.logKey,
    checkpoint: note,
    ...(await proven(ledger, found, size)),
    key: announcement && announcement.seq !== found.seq ? await proven(ledger, announcement, size) : null,
  };
}

async function proven(ledger: LedgerReader, { seq, entry }: PlacedEntry, size: number): Promise<Proven> {
  const hashes = await ledger.inclusion(seq, size);
  return { entry, index: seq, hashes: hashes.map((hash) => Buffer.from(hash).toString("base64")) };
}

async function announcementOf(
  ledger: LedgerReader,
  { proof }: LedgerEntry,
): Promise<PlacedEntry | undefined> {
  if (proof?.type !== "attestation") return undefined;
  const key = (await announcedKeys(ledger)).find(({ key_id }) => key_id === proof.key_id);
  const [announcement] = key ? await ledger.read({ after: key.added - 1, limit: 1 }) : [];
  return announcement;
}
