import { type Message, objectIn } from "./message.ts";

const VERSION = "io.modelcontextprotocol/protocolVersion";
/** From this revision on there is no handshake and no session; revisions are dates. */
const FIRST_MODERN = "2026-07-28";

/** The revision that a request says it is of, as each does since 2026. */
export function revisionOf(message: Message): string | undefined {
  const version = objectIn(objectIn(message, "params"), "_meta")?.[VERSION];
  return typeof version === "string" ? version : undefined;
}

/** Whether a revision is one in which each request stands for itself. */
export function isModernRevision(revision: string | undefined): boolean {
  return revision !== undefined && revision >= FIRST_MODERN;
}

/** Whether a request is of such a revision. */
export function isModern(message: Message): boolean {
  return isModernRevision(revisionOf(message));
}
