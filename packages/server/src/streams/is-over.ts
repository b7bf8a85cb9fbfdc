import type { ServerResponse } from "node:http";
import { Duplex } from "node:stream";

/** Whether an answer is over, because it was taken or because whoever waited for it has gone. */
export function isOver(response: ServerResponse): boolean {
  if (response.closed) return true;
  // An answer over HTTP/2 does not tell; the stream below it does.
  return "stream" in response && response.stream instanceof Duplex && response.stream.closed;
}
