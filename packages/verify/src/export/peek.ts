import { type Bytes, concat } from "../bytes/bytes.ts";

/** A stream whose start was looked at. */
export interface Peeked {
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
