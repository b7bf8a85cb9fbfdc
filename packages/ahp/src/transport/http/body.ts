import type { IncomingMessage } from "node:http";
import type { Clock } from "../../ports/clock.ts";
import { Pieces } from "../pieces.ts";

/** A body that was read, or that it is too large. */
export type Body = { readonly bytes: Buffer } | { readonly tooLarge: true };

/** How long the rest of a body that is too large is read and thrown away, so that its sender gets to see the answer. */
const PATIENCE_MS = 2_000;

/** Reads a request's body up to a bound; beyond it nothing is kept. Rejects when the peer vanishes. */
export async function readBody(request: IncomingMessage, maxBytes: number, clock: Clock): Promise<Body> {
  const { promise, resolve, reject } = Promise.withResolvers<Body>();
  const pieces = new Pieces();
  let callOff: (() => void) | undefined;
  const discard = () => {
    pieces.clear();
    callOff ??= clock.after(PATIENCE_MS, () => resolve({ tooLarge: true }));
  };
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) discard();
  request.on("data", (piece: Buffer) => {
    if (pieces.length + piece.length > maxBytes) discard();
    else if (!callOff) pieces.add(piece);
  });
  request.once("end", () => resolve(callOff ? { tooLarge: true } : { bytes: pieces.take() }));
  request.once("error", reject);
  request.once("close", () => {
    if (!request.readableEnded) reject(new Error("the request was cut off"));
  });
  return promise.finally(() => callOff?.());
}
