import type { StoreNode, Tables } from "./store.ts";

/** A node as the database knows it. */
export interface KnownNode extends StoreNode {
  readonly epoch: number;
  /** Names the process that has the claim; empty once the claim has ended. It stays the same when the epoch grows. */
  readonly claim: string;
  /** Whether it may write: it has neither ended nor stopped renewing its claim. */
  readonly isAlive: boolean;
  /** Since when it has its epoch, and when its claim ends unless renewed, in milliseconds since 1970. */
  readonly since: number;
  readonly expires: number;
  /** What the process told of itself; absent until it did. */
  readonly state?: NodeState;
  /** How many tenants it owns. */
  readonly tenants: number;
}

/** What a node tells the others. */
export interface NodeState {
  /** Where other nodes reach it, as host:port. */
  readonly address: string;
  readonly version: string;
  /** How many of its sessions are open. */
  readonly sessions: number;
  /** The agents that are installed there. */
  readonly agents: readonly string[];
  /** The name of the key with which it seals. */
  readonly vaultKey?: string | undefined;
  /** Whether it takes over no tenant any more. */
  readonly isDraining: boolean;
}

/** The node that serves a tenant. */
export interface TenantOwner {
  readonly tenant: string;
  readonly node: string;
  /** The claim of the node; another process of the same name does not own it. */
  readonly claim: string;
  readonly address: string;
}

/** A node that others reach. */
export interface Peer extends Pick<TenantOwner, "node" | "claim" | "address"> {
  readonly epoch: number;
}

/** What has changed among the nodes since one of them looked last. */
export interface NodesSince {
  /** Where the next look begins. */
  readonly epoch: number;
  /** Those that began since, or claimed the database again. */
  readonly joined: readonly Peer[];
  /** The names of all that are none any more. */
  readonly ended: readonly string[];
  /** Whether the one that looks is to drain. */
  readonly isDraining: boolean;
}

type NodeChanges = {
  /** Tells the others of a node; gives whether it is to drain. What an earlier process of its name told is forgotten. */
  tell(args: { node: string; claim: string; state: Omit<NodeState, "isDraining"> }): boolean;
  /**
   * The owner of a tenant. Without a live one, a node with the wanted labels gets it: of those that have most of the agents
   * the least busy.
   */
  own(args: {
    tenant: string;
    labels?: Readonly<Record<string, string>> | undefined;
    agents?: readonly string[] | undefined;
  }): TenantOwner | undefined;
  /** Gives a tenant up. */
  disown(args: Pick<TenantOwner, "tenant" | "node" | "claim">): undefined;
  /** Has a live node drain, or take over tenants again; gives whether there is such a node. */
  drain(args: { node: string; isDraining: boolean }): boolean;
  /** Ends the claim of a process whose session with the database has ended; gives whether it did. */
  end(args: { node: string; claim: string }): boolean;
};

type NodeQueries = {
  /** All nodes there ever were; for people, because it grows with the nodes. */
  list(args: null): KnownNode[];
  /** What has changed since an epoch, for a node that looks again and again. */
  since(args: { node: string; claim: string; epoch: number }): NodesSince;
  /** The owner of a tenant, if it has a live one; unlike `own` it locks nothing, and notifies no node. */
  owner(args: { tenant: string }): TenantOwner | undefined;
  /** The tenants of a node. */
  owned(args: { node: string; claim: string }): string[];
};

/**
 * The processes that write to a database in PostgreSQL, or did, and which of them serves which tenant. One that had the
 * database to itself is not among them.
 */
export const nodeTables: Tables<NodeChanges, NodeQueries> = {
  name: "nodes",
  module: new URL("./nodes.tables.ts", import.meta.url),
};
