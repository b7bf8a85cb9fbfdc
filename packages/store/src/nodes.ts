import type { StoreNode, Tables } from "./store.ts";

/** A node as the database knows it. */
export interface KnownNode extends StoreNode {
  readonly epoch: number;
  /** Whether it may write: it has neither ended nor stopped renewing its claim. */
  readonly isAlive: boolean;
  /** Since when it has its epoch, and when its claim ends unless renewed, in milliseconds since 1970. */
  readonly since: number;
  readonly expires: number;
}

/** The processes that write to a database in PostgreSQL, or did. One that had it to itself is not among them. */
export const nodeTables: Tables<Record<never, never>, { list(args: null): KnownNode[] }> = {
  name: "nodes",
  module: new URL("./nodes.tables.ts", import.meta.url),
};
