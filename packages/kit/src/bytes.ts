import type { IncomingMessage } from "node:http";
import type { Clock } from "./clock.ts";

const MIN_CAPACITY = 1 << 12;

/** Bytes that arrive in chunks. Copies them, so that a caller may reuse a chunk; chunks of one byte cost linear time. */
export class ByteBuffer {
  #bytes = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(MIN_CAPACITY, 2 * length));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#bytes.set(chunk, this.#length);
    this.#length = length;
  }

  /** Returns all bytes and empties the buffer. */
  take(): Buffer {
    const all = this.#bytes.subarray(0, this.#length);
    this.clear();
    return all;
  }

  clear(): void {
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
  }
}

/** Reads a body up to a limit; `undefined` if it is larger. Stops reading there, which closes a stream. */
export async function readLimited(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const body = new ByteBuffer();
  for await (const chunk of chunks) {
    if (body.length + chunk.length > maxBytes) return undefined;
    body.add(chunk);
  }
  return body.take();
}

/** The body of a request, or why it was refused: it is too large, or the caller has no room for it. */
export type RequestBody = { readonly bytes: Buffer } | { readonly fault: "too_large" | "busy" };

/** How long the rest of a refused body is read and discarded, so that its sender gets to read the response. */
const DISCARD_MS = 2_000;

/**
 * Reads the body of a request up to a limit, and while `hasRoom` accepts the next chunk. Rejects when the peer breaks
 * off.
 */
export function readRequestBody(
  request: IncomingMessage,
  maxBytes: number,
  clock: Clock,
  hasRoom: (bytes: number) => boolean = () => true,
): Promise<RequestBody> {
  return new Promise((resolve, reject) => {
    const body = new ByteBuffer();
    let fault: "too_large" | "busy" | undefined;
    let cancel: (() => void) | undefined;
    const discard = (why: "too_large" | "busy") => {
      body.clear();
      fault ??= why;
      const refused = { fault };
      cancel ??= clock.after(DISCARD_MS, () => resolve(refused));
    };
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) discard("too_large");
    request.on("data", (chunk: Buffer) => {
      if (fault) return;
      if (body.length + chunk.length > maxBytes) discard("too_large");
      else if (!hasRoom(chunk.length)) discard("busy");
      else body.add(chunk);
    });
    request.on("end", () => {
      cancel?.();
      resolve(fault ? { fault } : { bytes: body.take() });
    });
    // Errors after the end are ignored.
    request.on("error", (error) => {
      cancel?.();
      reject(error);
    });
    request.on("close", () => {
      if (request.readableEnded) return;
      cancel?.();
      reject(new Error("the request was cut off"));
    });
  });
}
