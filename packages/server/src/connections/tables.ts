import type { Tables } from "@reins/store";

/** The endpoint of a connection. */
export type AcpEndpoint = "rpc" | "acp" | "server";

/** A stored connection: outlives its streams and the server. */
export interface ConnectionRecord {
  readonly id: string;
  readonly dialect: AcpEndpoint;
  readonly tenant: string;
  /** The id of its principal. */
  readonly principal: string;
  /** The id that its client chose, at the endpoint where it does. */
  readonly server?: string | undefined;
  /** The agent of new sessions that name none. */
  readonly agent?: string | undefined;
  /** Whether the client subscribed to starts and ends of turns. */
  readonly hears_turns?: boolean | undefined;
  /** The capabilities of the client. */
  readonly capabilities?: Record<string, unknown> | undefined;
  /** Its start, as a position in the log. */
  readonly start: number;
  /** The epoch of the log when a stream was last opened. */
  readonly epoch: number;
  /** The sessions it follows, each with the position after which it does. */
  readonly sessions: Readonly<Record<string, number>>;
  /** The position up to which every request has its response. */
  readonly quiet: number;
  /** RFC 3339. */
  readonly created_at: string;
  readonly last_seen: string;
}

export interface ConnectionRange {
  readonly tenant: string;
  /** Limits the list to one principal. */
  readonly principal?: string | undefined;
  /** The last id of the previous page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export type ConnectionChanges = {
  /** Inserts or replaces a connection. */
  put(args: ConnectionRecord): undefined;
  remove(args: { id: string }): undefined;
  /** Removes those without activity since an instant; returns their ids. */
  expire(args: { before: string }): string[];
};

export type ConnectionQueries = {
  get(args: { id: string }): ConnectionRecord | undefined;
  /** The newest first. */
  list(args: ConnectionRange): ConnectionRecord[];
  /** Counts the connections of a principal. */
  count(args: { tenant: string; principal: string }): number;
};

/** The connections of ACP clients over HTTP. */
export const connectionTables: Tables<ConnectionChanges, ConnectionQueries> = {
  name: "connections",
  module: new URL("./module.ts", import.meta.url),
};
