import type { IncomingMessage } from "node:http";
import type { Clock } from "@reins/kit";
import { Pieces } from "../pieces.ts";

/** A body that was read, or why it was not: it is too large, or too much arrives at once. */
export type Body = { readonly bytes: Buffer } | { readonly fault: "too_large" | "busy" };

/** How long the rest of a body that is too large is read and thrown away, so that its sender gets to see the answer. */
const PATIENCE_MS = 2_000;

/** Reads a request's body up to a bound, and as far as `hasRoom` says; beyond it nothing is kept. Rejects when the peer vanishes. */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  clock: Clock,
  hasRoom: (bytes: number) => boolean = () => true,
): Promise<Body> {
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    let fault: "too_large" | "busy" | undefined;
    let callOff: (() => void) | undefined;
    const discard = (why: "too_large" | "busy") => {
      pieces.clear();
      fault ??= why;
      const refused = { fault };
      callOff ??= clock.after(PATIENCE_MS, () => resolve(refused));
    };
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) discard("too_large");
    request.on("data", (piece: Buffer) => {
      if (fault) return;
      if (pieces.length + piece.length > maxBytes) discard("too_large");
      else if (!hasRoom(piece.length)) discard("busy");
      else pieces.add(piece);
    });
    request.on("end", () => {
      callOff?.();
      resolve(fault ? { fault } : { bytes: pieces.take() });
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
