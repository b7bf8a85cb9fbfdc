import type { Writable } from "node:stream";
import { within } from "../bounds.ts";

/** Writes as much as the other side takes, up to so many bytes. */
export async function flood(output: Writable, bytes: number, piece: Buffer): Promise<void> {
  for (let sent = 0; sent < bytes && output.writable; sent += piece.length) {
    if (!output.write(piece)) await within("room for more", drainedOrClosed(output));
  }
}

async function drainedOrClosed(output: Writable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const settle = () => resolve();
  for (const event of ["drain", "close"]) output.on(event, settle);
  await promise;
  for (const event of ["drain", "close"]) output.off(event, settle);
}
