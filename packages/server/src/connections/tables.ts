import type { Tables } from "@reins/store";

/** Which way of speaking ACP a connection was made by. */
export type AcpEndpoint = "rpc" | "acp";

/** A connection as it is kept: it outlives its streams, and the server. */
export interface ConnectionRecord {
  readonly id: string;
  readonly dialect: AcpEndpoint;
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

/** Which connections. */
export interface ConnectionRange {
  readonly tenant: string;
  /** Those of one principal only. */
  readonly principal?: string | undefined;
  /** The id of the last one of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** What is changed about connections. */
export type ConnectionChanges = {
  /** Puts a connection in the place of what was kept of it. */
  put(args: ConnectionRecord): undefined;
  remove(args: { id: string }): undefined;
  /** Forgets those that were not seen since a moment; gives their ids. */
  expire(args: { before: string }): string[];
};

/** What is asked about them. */
export type ConnectionQueries = {
  get(args: { id: string }): ConnectionRecord | undefined;
  /** The newest first. */
  list(args: ConnectionRange): ConnectionRecord[];
  /** How many a principal has. */
  count(args: { tenant: string; principal: string }): number;
};

/** The connections of clients that speak ACP over HTTP. */
export const connectionTables: Tables<ConnectionChanges, ConnectionQueries> = {
  name: "connections",
  module: new URL("./module.ts", import.meta.url),
};
