import type { JsonObject } from "@reins/acp";
import type { Clock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import type { EventLog } from "../log/event-log.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { AgentPool } from "./agent-pool.ts";
import type { Sessions } from "./sessions.ts";

/** What the parts of a hub share. */
export interface HubContext {
  readonly harness: Harness;
  readonly log: EventLog;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly sessions: Sessions;
  readonly pool: AgentPool;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

/** A client's request about a session. */
export interface SessionCall {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
}

/** Wakes sessions that stay awake between turns. */
export interface IdleScheduler {
  /** Takes a notification of a client before the session's agent receives it; returns whether it did. */
  takes(session: SessionRecord, method: string, params: JsonObject): boolean;
  turnEnded(session: SessionRecord): void;
  close(): void;
}
