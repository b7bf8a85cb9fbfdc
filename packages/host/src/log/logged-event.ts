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

/** A message at its position. */
export interface LoggedEvent extends NewEvent {
  /** The message as JSON, written once for all who get it. */
  readonly text?: string | undefined;
  /** Grows with every message of the tenant, across restarts. */
  readonly order: number;
  /** Grows with every start of the process that writes the log. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The position up to which a reader has seen a log. */
export interface Cursor {
  readonly epoch: number;
  readonly order: number;
}

/** Messages that can no longer be had: some after `after`, up to and with `until`. */
export interface Gap {
  readonly after: number;
  readonly until: number;
  /** `retention`: older than the retention time. `lost`: sent, but gone in a power cut or with a damaged file. */
  readonly reason: "retention" | "lost";
}

/** Messages of a tenant that were written and are lost: those from one position to another, both included. */
export interface Hole {
  readonly tenant: string;
  readonly first: number;
  readonly last: number;
}
