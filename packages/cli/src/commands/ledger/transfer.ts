import { createReadStream, existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import { pipeline as pipelineEnd } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { errorMessage, LineReader } from "@reins/kit";
import {
  ArtifactStore,
  exportLines,
  type Imported,
  importLines,
  LedgerReader,
  ledgerTables,
} from "@reins/ledger";
import { openSqlite, type Store } from "@reins/store";
import { command, HOME } from "../../command.ts";
import { CliError, EXIT, systemCode } from "../../errors.ts";
import { writeNewFile } from "../../files.ts";
import { artifactsIn, openHome, realDatabase } from "../../home.ts";
import { postgresOf } from "../../home-database.ts";
import { checkSeen } from "../../ledger/check-seen.ts";
import { ledgerError } from "../../ledger/ledger-error.ts";
import { READING, readLedger, WRITING } from "../../ledger/open-ledger.ts";
import { SeenCheckpoints } from "../../ledger/seen-checkpoints.ts";
import { type Notice, printableLine } from "../../output.ts";
import { withStopSignal } from "../../serving/stop.ts";

export const exportCommand = command({
  summary: "write the whole ledger for a verifier",
  description:
    "Writes every entry up to the newest checkpoint, with all checkpoints. Works while Reins runs.",
  inputs: {
    file: ["[file]", "where to write it, - for stdout; it must not exist yet", { default: ["-"] }],
    home: HOME,
    gzip: ["--gzip", "compress it; also done when the file's name ends in .gz"],
    withPrivate: ["--with-private", "include the private content that was not erased"],
  },
  note: `The format is JSON Lines; docs/ledger-format.md describes it to the byte. Without --with-private the export contains only
the digests of private content, and still verifies.`,
  examples: [
    "reins ledger export audit.jsonl.gz                compressed, because of its name",
    "reins ledger export --gzip - | ssh auditor 'cat > audit.jsonl.gz'",
    `reins ledger export - | jq 'select(.kind == "entry") | .entry.quality'`,
  ],
  codes: READING,
  run: ({ file, home, gzip, withPrivate }, { notice }) =>
    readLedger({ home }, async (ledger) => {
      const artifacts = withPrivate && { artifacts: new ArtifactStore(artifactsIn(home)) };
      const pieces = inPieces(exportLines(ledger, { ...artifacts }));
      const bytes = gzip || file.endsWith(".gz") ? compressed(pieces) : pieces;
      if (file === "-") return writeToStdout(bytes);
      await withStopSignal((signal) => writeNewFile(file, bytes, signal));
      notice(`The ledger ${ledger.origin} is in ${file}. To check it: reins ledger verify ${file}`);
    }),
});

function compressed(pieces: AsyncIterable<string>): AsyncIterable<Uint8Array> {
  // An error ends the stream that is read.
  return pipeline(pieces, createGzip(), () => undefined);
}

/** A reader that closed early, such as `head`, is no error. */
async function writeToStdout(pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
  try {
    await pipelineEnd(pieces, process.stdout, { end: false });
  } catch (error) {
    if (systemCode(error) !== "EPIPE") throw error;
  }
}

const PIECE = 64 * 1024;

/** Joins lines into chunks of a good size for streams. */
export async function* inPieces(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = "";
  for await (const line of lines) {
    piece += line;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
}

export const importCommand = command({
  summary: "import an exported ledger",
  description: "Imports an export into a home that has no ledger yet, or has the beginning of the same one.",
  inputs: {
    file: ["<file>", "the export, compressed or not; - for stdin"],
    home: HOME,
    json: ["--json", "print what was done as JSON"],
  },
  note: `Entries that exist already are kept, so an interrupted import can be run again. Checks the content id and chain of every
entry; signatures and checkpoints are for the verifier: run reins ledger verify before or afterwards.
A ledger of another home can be read and verified here, but only its own home can add to it.`,
  examples: [
    "reins ledger import audit.jsonl.gz --home ./copy",
    "ssh server reins ledger export --gzip | reins ledger import - --home ./copy",
  ],
  codes: {
    ...WRITING,
    failed: "the export is damaged, or of another ledger than the one here",
    unreachable: "the file or the home cannot be read",
  },
  async run({ file, home }, { notice }) {
    await openHome(home, notice);
    try {
      const json = await importInto(home, file, notice);
      return { json, text: () => describeImport(json, home) };
    } catch (error) {
      throw ledgerError(error, home);
    }
  },
});

async function importInto(home: string, file: string, notice: Notice): Promise<Imported> {
  if (await postgresOf(home))
    throw new CliError(`The state of ${home} is in PostgreSQL, into which no export is imported.`, {
      next: "Import it into another home, then copy that: reins store copy <home> <address>",
    });
  const path = await realDatabase(home);
  const isNew = !existsSync(path);
  const store = await openSqlite({ path, tables: [ledgerTables] });
  try {
    const lines = linesOfExport(file, process.stdin);
    const imported = await importLines(store, lines, new ArtifactStore(artifactsIn(home)));
    await checkSeen(await LedgerReader.of(store), home, SeenCheckpoints.ofUser(process.env), notice);
    return imported;
  } catch (error) {
    await abandon(store, path, isNew);
    throw error;
  } finally {
    await store.close();
  }
}

/** Removes an incomplete ledger from a home that had none. */
async function abandon(store: Store, path: string, isNew: boolean): Promise<void> {
  await store.close();
  if (!isNew) return;
  for (const suffix of ["", "-wal", "-shm"]) await rm(`${path}${suffix}`, { force: true });
}

function describeImport({ origin, entries, added }: Imported, home: string): string {
  const name = printableLine(origin);
  return `The ledger ${name} is in ${home}: ${entries} entries, ${added} of them new. To check it: reins ledger verify ${home}\n`;
}

/** The largest artifact in base64 fits. */
const LONGEST_LINE = 96 * 1024 * 1024;

export async function* linesOfExport(file: string, input: Readable): AsyncGenerator<string> {
  const source = file === "-" ? input : createReadStream(file);
  try {
    yield* linesOf(await uncompressed(source));
  } catch (error) {
    throw new CliError(`${file === "-" ? "stdin" : file} cannot be read: ${errorMessage(error)}`, {
      next: "Give an export as reins ledger export writes it, compressed with gzip or not.",
      exitCode: EXIT.unreachable,
      cause: error,
    });
  }
}

async function uncompressed(source: Readable): Promise<AsyncIterable<Uint8Array>> {
  const pieces: AsyncIterator<Uint8Array> = source[Symbol.asyncIterator]();
  const first = await pieces.next();
  if (first.done) return Readable.from([]);
  const whole = Readable.from(startingWith(first.value, pieces));
  const isGzip = first.value[0] === 0x1f && first.value[1] === 0x8b;
  // An error ends the stream that is read.
  return isGzip ? pipeline(whole, createGunzip(), () => undefined) : whole;
}

async function* startingWith(
  first: Uint8Array,
  others: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield first;
    for (let next = await others.next(); !next.done; next = await others.next()) yield next.value;
  } finally {
    await others.return?.();
  }
}

async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const lines: string[] = [];
  const reader = new LineReader(
    {
      line: (text) => lines.push(text),
      refused: (fault) => {
        const why =
          fault === "too_large" ? "a line is longer than any line of an export" : "a line is not UTF-8";
        throw new RangeError(why);
      },
    },
    LONGEST_LINE,
  );
  for await (const piece of pieces) {
    reader.push(Buffer.from(piece.buffer, piece.byteOffset, piece.length));
    yield* lines.splice(0);
  }
  reader.end();
  yield* lines;
}
