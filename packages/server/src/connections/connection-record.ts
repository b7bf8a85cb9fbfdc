/** Which way of speaking ACP a connection was made by. */
export type AcpDialectName = "rpc" | "acp";

/** A connection as it is kept: it outlives its streams, and the server. */
export interface ConnectionRecord {
  readonly id: string;
  readonly dialect: AcpDialectName;
  readonly tenant: string;
  /** The id of the principal that it is bound to. */
  readonly principal: string;
  /** The agent of new sessions that name none. */
  readonly agent?: string | undefined;
  /** Whether its client wants to hear when turns begin and end. */
  readonly hears_turns?: boolean | undefined;
  /** What its client said that it can do. */
  readonly capabilities?: Record<string, unknown> | undefined;
  /** The place in the log where it began. */
  readonly start: number;
  /** The epoch of the log in which a stream of it was last opened. */
  readonly epoch: number;
  /** The sessions it follows, and the place in the log after which each counts. */
  readonly sessions: Readonly<Record<string, number>>;
  /** The place in the log up to which no request waits for an answer on a stream. */
  readonly quiet: number;
  /** RFC 3339. */
  readonly created_at: string;
  readonly last_seen: string;
}
