import type { JsonObject } from "@reins/acp";
import type { Clock } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import type { Descent } from "../control/scope.ts";
import type { EventLog } from "../log/event-log.ts";
import type { FolderServers } from "../mcp/folder-servers.ts";
import type { Askable } from "../sessions/session-clients.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { AgentPool } from "./agent-pool.ts";
import type { Tenants } from "./tenants.ts";

/** What sessions and turns need of the hub that serves them. */
export interface HubContext {
  readonly harness: Harness;
  readonly log: EventLog;
  readonly clock: Clock;
  readonly sessions: Sessions;
  readonly pool: AgentPool;
  /** Of a node: what names the homes in which its agents keep their conversations. */
  readonly homes?: string | undefined;
  readonly tenants: Pick<Tenants, "expectStaying">;
  /** Wakes sessions between prompts, where daemons are served. */
  readonly idleScheduler: IdleScheduler | undefined;
  /** The MCP servers that users stored for folders, where they are served. */
  readonly folderServers?: Pick<FolderServers, "serversFor"> | undefined;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
  /** The connections of a session that can be asked now. */
  present(session: string): readonly Askable[];
  /** Whether a connection has not ended. */
  isConnected(connection: string): boolean;
  /** A number for a request, higher than that of every earlier one. What cancels pending requests spares later ones. */
  arrive(): number;
}

/** A client's request about a session. */
export interface SessionCall {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
}

/** Wakes the sessions of daemons, which stay awake between turns. */
export interface IdleScheduler {
  /** Handles a notification of a client instead of the session's agent; returns whether it did. */
  takes(session: SessionRecord, method: string, params: JsonObject): boolean;
  turnEnded(session: SessionRecord): void;
  close(): void;
}

/** How a connection is made. */
export interface ConnectionOptions {
  readonly id: string;
  readonly principal: Principal;
  /** The agent of new sessions that name none. */
  readonly agent?: string | undefined;
  /** The limits of new sessions, where another session starts them. */
  readonly descent?: Descent | undefined;
  /** When new sessions were requested, where they waited for their agent; by default when they start. */
  readonly begun?: Date | undefined;
  /** The number of the request that it serves, where that arrived before the connection was made. */
  readonly arrival?: number | undefined;
  /** Whether its client subscribes to the turns of the sessions that it follows. */
  readonly followsTurns?: boolean | undefined;
  /** The capabilities that its client declared before. */
  readonly capabilities?: JsonObject | undefined;
  /** Called when it follows another session, or one less. */
  readonly onFollow?: (() => void) | undefined;
}
