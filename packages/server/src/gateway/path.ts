import type { IncomingMessage } from "node:http";

/** The path of a request. What comes after it may hold secrets. */
export function pathOf({ url = "/" }: Pick<IncomingMessage, "url">): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}
