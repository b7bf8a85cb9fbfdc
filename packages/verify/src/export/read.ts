import { decompressed, GzipError } from "./gzip.ts";
import type { ExportSource, Line, LineBatches } from "./line.ts";
import { linesOfBytes, linesOfText } from "./lines.ts";

/** Reads an export line by line, from its bytes or from its lines. */
export async function* readLines(source: ExportSource): AsyncGenerator<readonly Line[]> {
  const pieces: AsyncIterator<string | Uint8Array> = source[Symbol.asyncIterator]();
  try {
    const first = await pieces.next();
    if (first.done) return;
    if (typeof first.value === "string") yield* linesOfText(only(first.value, pieces, isText));
    else yield* linesOfBytes(decompressed(only(first.value, pieces, isBytes)));
  } finally {
    await pieces.return?.();
  }
}

/** Ends a stream that breaks with a complaint in place of the error, so that what came before is still judged. */
export async function* withoutErrors(batches: LineBatches): AsyncGenerator<readonly Line[]> {
  try {
    yield* batches;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    yield [
      error instanceof GzipError
        ? { code: "gzip_invalid", message: reason }
        : { code: "stream_broken", message: `reading broke off: ${reason}` },
    ];
  }
}

async function* only<Wanted extends string | Uint8Array>(
  first: Wanted,
  others: AsyncIterator<string | Uint8Array>,
  wanted: (piece: string | Uint8Array) => piece is Wanted,
): AsyncGenerator<Wanted> {
  yield first;
  for (let next = await others.next(); !next.done; next = await others.next()) {
    if (!wanted(next.value)) throw new TypeError("an export is given as text or as bytes, not as both");
    yield next.value;
  }
}

function isText(piece: string | Uint8Array): piece is string {
  return typeof piece === "string";
}

function isBytes(piece: string | Uint8Array): piece is Uint8Array {
  return typeof piece !== "string";
}
