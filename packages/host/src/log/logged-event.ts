import type { JsonObject } from "@reins/acp";
import type { Store } from "@reins/store";
import { parseExact } from "@reins/supervisor";
import type { WrittenEvent } from "./tables.ts";

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
  /** Grows with every start of the process that writes the log, and with every node that takes the tenant over. */
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

export interface EventLogOptions {
  readonly store: Pick<Store, "commit" | "query">;
  readonly now: () => number;
  /**
   * The folder of the journal, which has messages before the store does. Without one a message goes to clients when the
   * store has it, so that another process can go on with the log.
   */
  readonly journal?: string | undefined;
  /** Messages that may wait for the store before an append has to wait. */
  readonly maxWaiting?: number;
  /** Called with messages that an earlier process wrote and that are lost. */
  readonly onLost?: ((hole: Hole) => void) | undefined;
  /** Called when messages wait for room on the disk, and when they do no more. */
  readonly onFull?: ((isFull: boolean, error?: unknown) => void) | undefined;
}

/** A stored message was within the bound when it arrived, and has some levels around it. */
const DEEPEST_KEPT = 1_024;

/** Parses a stored message, its numbers exact. */
export function readWritten(event: WrittenEvent): LoggedEvent {
  return { ...event, message: Object(parseExact(event.text, DEEPEST_KEPT)) };
}
