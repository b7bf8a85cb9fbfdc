import type { HttpServer } from "../../server-entry.ts";
import { type Message, objectIn } from "../../wire/message.ts";
import { isModernRevision, revisionOf } from "../../wire/revision.ts";
import { headerValue } from "../parameter-headers.ts";
import type { Sending } from "../server-link.ts";

/** The member of a request's parameters that `Mcp-Name` repeats. */
const NAMED_BY: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** What a link to an HTTP server remembers of the session. */
export interface HttpSession {
  id: string | undefined;
  /** The revision that was agreed on in the handshake. */
  revision: string | undefined;
}

/** The headers every request to the server has: its credentials, and the session. */
export function sessionHeaders(server: HttpServer, session: HttpSession): Headers {
  const headers = new Headers(server.headers.map(({ name, value }): [string, string] => [name, value]));
  if (session.id !== undefined) headers.set("mcp-session-id", session.id);
  if (session.revision !== undefined) headers.set("mcp-protocol-version", session.revision);
  return headers;
}

/** The headers of a message that is posted. Since 2026 they repeat what the body says. */
export function messageHeaders(
  server: HttpServer,
  session: HttpSession,
  message: Message,
  sending?: Sending,
): Headers {
  const isIntroduction = message.method === "initialize";
  const headers = sessionHeaders(server, isIntroduction ? { id: undefined, revision: undefined } : session);
  headers.set("content-type", "application/json");
  headers.set("accept", "application/json, text/event-stream");
  const revision = revisionOf(message);
  const { method } = message;
  if (revision === undefined || !isModernRevision(revision) || typeof method !== "string") return headers;
  headers.set("mcp-protocol-version", revision);
  headers.set("mcp-method", method);
  const source = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  const name = source === undefined ? undefined : objectIn(message, "params")?.[source];
  if (typeof name === "string") headers.set("mcp-name", headerValue(name));
  for (const [header, value] of Object.entries(sending?.headers ?? {})) headers.set(header, value);
  return headers;
}
