import type { IncomingMessage } from "node:http";

/** A body that was read, or that it is too large. */
export type Body = { readonly bytes: Buffer } | { readonly tooLarge: true };

/** Reads a request's body up to a bound; beyond it the rest is not read. Rejects when the peer vanishes. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Body> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return { tooLarge: true };
  const { promise, resolve, reject } = Promise.withResolvers<Body>();
  const parts: Buffer[] = [];
  let length = 0;
  request.on("data", (part: Buffer) => {
    length += part.length;
    if (length > maxBytes) {
      request.pause();
      resolve({ tooLarge: true });
      return;
    }
    parts.push(part);
  });
  request.once("end", () => {
    const [only] = parts;
    resolve({ bytes: only && parts.length === 1 ? only : Buffer.concat(parts, length) });
  });
  request.once("error", reject);
  request.once("close", () => {
    if (!request.readableEnded) reject(new Error("the request was cut off"));
  });
  return promise;
}
