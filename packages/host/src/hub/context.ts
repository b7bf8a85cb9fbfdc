import type { JsonObject } from "@reins/acp";
import type { Clock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import type { EventLog } from "../log/event-log.ts";
import type { AgentPool } from "./agent-pool.ts";
import type { ServedSessions } from "./served-sessions.ts";

/** What the rooms of a hub share. */
export interface HubContext {
  readonly harness: Harness;
  readonly log: EventLog;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly sessions: ServedSessions;
  readonly pool: AgentPool;
  /** Told what went wrong in the background. */
  readonly onError: (error: unknown) => void;
}

/** What a client asks about a session. */
export interface SessionCall {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
}
