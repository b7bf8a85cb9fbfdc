import type { IncomingMessage } from "node:http";

/** The path of a request. What comes after it may hold secrets. */
export function pathOf({ url }: Pick<IncomingMessage, "url">): string {
  return url?.split("?", 1)[0] ?? "/";
}
