import { createReadStream } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CliError, EXIT, errorMessage } from "../../../errors.ts";

/** The largest artifact in base64 fits; no export has a longer line. */
const LONGEST_LINE = 96 * 1024 * 1024;

/** The lines of an export in a file, or of one that comes in, compressed or not. */
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
  // What goes wrong ends the stream that is read; there is nobody else to tell.
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
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let rest = "";
  for await (const piece of pieces) {
    // Only what is new is searched: a line can be longer than a thousand pieces.
    const [end = "", ...lines] = decoder.decode(piece, { stream: true }).split("\n");
    rest += end;
    if (lines.length > 0) {
      yield rest;
      rest = lines.pop() ?? "";
    }
    if (rest.length > LONGEST_LINE) throw new RangeError("a line is longer than any line of an export");
    yield* lines;
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}
