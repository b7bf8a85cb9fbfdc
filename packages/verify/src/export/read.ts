import { type Bytes, concat } from "../bytes.ts";
import type { InspectedEntry } from "../entry/entry.ts";
import type { Complaint } from "../report.ts";

/** The line of an entry that its source knows more about. */
export interface WitnessedLine {
  readonly text: string;
  /** Compares the entry with what the source has beside it. */
  compare(entry: InspectedEntry): readonly Complaint[];
}

/** A line of an export, or why there is none to read. */
export type Line = string | WitnessedLine | Complaint;

/** Lines as they arrive, some at a time. */
export type LineBatches = AsyncIterable<readonly Line[]>;

/** What an export is read from: pieces of its bytes, compressed or not, or its lines one by one. */
export type ExportSource = AsyncIterable<Uint8Array> | AsyncIterable<string>;

/** A stream whose start was looked at. */
interface Peeked {
  /** What was looked at: all of the stream when it is shorter. */
  readonly head: Bytes;
  /** The stream from its beginning. An error met while looking comes in its place. */
  readonly whole: AsyncGenerator<Uint8Array>;
}

/** Reads a stream until enough of it is there. */
export async function peek(
  source: AsyncIterable<Uint8Array>,
  enough: (head: Uint8Array) => boolean,
): Promise<Peeked> {
  const pieces = source[Symbol.asyncIterator]();
  let head: Bytes = new Uint8Array(0);
  let failure: { readonly error: unknown } | undefined;
  let done = false;
  while (!done && !enough(head)) {
    try {
      const next = await pieces.next();
      if (next.done) done = true;
      else head = concat(head, next.value);
    } catch (error) {
      failure = { error };
      done = true;
    }
  }
  return { head, whole: resumed(head, done ? undefined : pieces, failure) };
}

async function* resumed(
  head: Bytes,
  rest: AsyncIterator<Uint8Array> | undefined,
  failure: { readonly error: unknown } | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    if (head.length > 0) yield head;
    if (failure !== undefined) throw failure.error;
    if (rest === undefined) return;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest?.return?.();
  }
}

/** Compressed bytes that are damaged or end too early. */
class GzipError extends Error {
  override readonly name = "GzipError";
}

/** The bytes of a stream, decompressed when it starts as gzip does. */
export async function* decompressed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { head, whole } = await peek(source, ({ length }) => length >= 2);
  yield* head[0] === 0x1f && head[1] === 0x8b ? gunzip(whole) : whole;
}

async function* gunzip(source: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  let failure: { readonly error: unknown } | undefined;
  const compressed = new ReadableStream<Bytes>({
    async pull(controller) {
      try {
        const { done, value } = await source.next();
        if (done) controller.close();
        else controller.enqueue(new Uint8Array(value));
      } catch (error) {
        failure = { error };
        controller.error(error);
      }
    },
    async cancel() {
      await source.return(undefined);
    },
  });
  const reader = compressed.pipeThrough(new DecompressionStream("gzip")).getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } catch (cause) {
    if (failure !== undefined) throw failure.error;
    throw new GzipError("the compressed data is damaged or ends too early", { cause });
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The longest line that is kept in memory, in bytes. */
const LINE_LIMIT = 256 * 1024 * 1024;

const NEWLINE = 0x0a;

/** Splits bytes into lines. What cannot be read is a fault in place of the line; reading ends where it breaks. */
export async function* linesOfBytes(
  chunks: AsyncIterable<Uint8Array>,
  limit = LINE_LIMIT,
): AsyncGenerator<readonly Line[]> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let rest: Uint8Array[] = [];
  let held = 0;
  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const tail = chunk.subarray(start, end);
      lines.push(decode(decoder, rest.length === 0 ? tail : concat(...rest, tail)));
      rest = [];
      held = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      // Copied, because the source may reuse the chunk.
      rest.push(new Uint8Array(chunk.subarray(start)));
      held += chunk.length - start;
    }
    if (lines.length > 0) yield lines;
    if (held > limit) {
      yield [{ code: "line_too_long", message: `a line is longer than ${limit} bytes; reading ended there` }];
      return;
    }
  }
  if (rest.length > 0) yield [decode(decoder, concat(...rest))];
}

/** Takes a line at a time. */
async function* linesOfText(lines: AsyncIterable<string>): AsyncGenerator<readonly Line[]> {
  for await (const line of lines) yield [line.endsWith("\n") ? line.slice(0, -1) : line];
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array): Line {
  try {
    return decoder.decode(bytes);
  } catch {
    const complaint: Complaint = { code: "line_not_utf8", message: "the line is not UTF-8" };
    return complaint;
  }
}

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

/** Ends a stream that breaks with a fault in place of the error, so that what came before is still judged. */
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
