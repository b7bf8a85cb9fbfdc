import type { IncomingMessage } from "node:http";

/** Reads a request's body up to a bound; nothing comes of a larger one. Rejects when the agent breaks off. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of request) {
    length += piece.length;
    if (length <= maxBytes) pieces.push(piece);
    else pieces.length = 0;
  }
  return length <= maxBytes ? Buffer.concat(pieces).toString() : undefined;
}
