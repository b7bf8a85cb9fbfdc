import type { Operations, Tables } from "@reins/store";
import type { ConnectionRecord } from "./connection-record.ts";

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

/** The tables that the dialects of a server keep, beside the harness's and the host's own. */
export const serverTables: readonly Tables<Operations, Operations>[] = [connectionTables];
