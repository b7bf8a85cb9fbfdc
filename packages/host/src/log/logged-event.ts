import type { JsonObject } from "@reins/acp";

/** A message to the clients of a session. */
export interface NewEvent {
  readonly tenant: string;
  readonly session: string;
  /** A notification, or a request without an id: each client gets one of its own. */
  readonly message: JsonObject;
  /** For a request: what an answer to it names. */
  readonly request?: string | undefined;
  /** The connection that it is not for, because it came from there. */
  readonly except?: string | undefined;
}

/** A message at its place. */
export interface LoggedEvent extends NewEvent {
  /** The message as JSON, written once for all who get it. */
  readonly text?: string | undefined;
  /** Grows with every message of the tenant, across restarts. */
  readonly order: number;
  /** Grows with every start of whoever writes the log. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The place up to which somebody has seen a log. */
export interface Cursor {
  readonly epoch: number;
  readonly order: number;
}

/** Messages that can no longer be had: some after `after`, up to and with `until`. */
export interface Gap {
  readonly after: number;
  readonly until: number;
  /** `retention`: too old to be kept. `lost`: sent, but gone in a power cut or with a damaged file. */
  readonly reason: "retention" | "lost";
}
