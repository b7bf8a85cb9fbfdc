import type { IncomingMessage } from "node:http";
import type { Clock } from "../../ports/clock.ts";
import { Pieces } from "../pieces.ts";

/** A body that was read, or that it is too large. */
export type Body = { readonly bytes: Buffer } | { readonly tooLarge: true };

/** How long the rest of a body that is too large is read and thrown away, so that its sender gets to see the answer. */
const PATIENCE_MS = 2_000;

/** Reads a request's body up to a bound; beyond it nothing is kept. Rejects when the peer vanishes. */
export function readBody(request: IncomingMessage, maxBytes: number, clock: Clock): Promise<Body> {
  return new Promise((resolve, reject) => {
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
    request.on("end", () => {
      callOff?.();
      resolve(callOff ? { tooLarge: true } : { bytes: pieces.take() });
    });
    // Of what comes after the end nobody hears any more.
    request.on("error", (error) => {
      callOff?.();
      reject(error);
    });
    request.on("close", () => {
      if (request.readableEnded) return;
      callOff?.();
      reject(new Error("the request was cut off"));
    });
  });
}
