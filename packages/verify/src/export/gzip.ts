import type { Bytes } from "../bytes/bytes.ts";
import { peek } from "./peek.ts";

/** Compressed bytes that are damaged or end too early. */
export class GzipError extends Error {
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
