import type { JsonObject } from "../acp/message.ts";

/** One message to the clients of a session, at its place. */
export interface LoggedEvent {
  /** Grows by one with every message of the session, across restarts. */
  readonly seq: number;
  /** Grows with every start of whoever writes the log. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** A notification, or a request without an id: each client gets one of its own. */
  readonly message: JsonObject;
  /** For a request: what an answer to it names. */
  readonly request?: string | undefined;
}

/** The place up to which somebody has seen a log. */
export interface Cursor {
  readonly epoch: number;
  readonly seq: number;
}

/** Messages that can no longer be had: those after `after`, up to and with `until`. */
export interface Gap {
  readonly after: number;
  readonly until: number;
  /** `retention`: too old to be kept. `lost`: sent, but gone in a power cut. */
  readonly reason: "retention" | "lost";
}
