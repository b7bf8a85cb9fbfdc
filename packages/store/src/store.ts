import type { Change, Operations, Tables } from "./tables.ts";

/** How a commit is to be kept. */
export interface CommitOptions {
  /**
   * Whether it must survive a power cut. If not, it survives the death of the process but is not waited for on the
   * disk. By default it must.
   */
  readonly durable?: boolean;
  /** The lease under which the writer acts; a commit of an older owner is refused. */
  readonly lease?: Lease;
}

/** The right to act for something, such as a session, until it passes on. */
export interface Lease {
  readonly name: string;
  readonly owner: string;
  /** Grows with every owner; a write that names an older one is refused. */
  readonly epoch: number;
  /** When it ends unless renewed, in milliseconds since 1970. */
  readonly expires: number;
}

/** What a commit gives back: the result of each change, in order. */
export type Results<Changes extends readonly Change<unknown>[]> = {
  [Index in keyof Changes]: Changes[Index] extends Change<infer Result> ? Result : never;
};

/**
 * The database. One commit changes whatever tables it likes, all or nothing; commits are applied in the order in
 * which they were asked for. Every rejection is a {@link StoreError}.
 */
export interface Store {
  /** Applies the changes together. Settles when they are kept as asked. */
  commit<const Changes extends readonly Change<unknown>[]>(
    changes: Changes,
    options?: CommitOptions,
  ): Promise<Results<Changes>>;

  /** Reads; sees every commit that had settled when it was asked. */
  query<Queries extends Operations, Name extends keyof Queries & string>(
    tables: Tables<Operations, Queries>,
    name: Name,
    args: Parameters<Queries[Name]>[0],
  ): Promise<ReturnType<Queries[Name]>>;

  /** Takes a lease that nobody holds, or whose time is over, or that the owner holds already; else `undefined`. */
  claim(name: string, owner: string, milliseconds: number): Promise<Lease | undefined>;
  /** Holds a lease for longer; `undefined` when it has passed on. */
  renew(lease: Lease, milliseconds: number): Promise<Lease | undefined>;
  /** Gives a lease back. */
  release(lease: Lease): Promise<void>;

  /** Copies the database, as it stands, to a new file. */
  backup(path: string): Promise<void>;
  /** Writes what waits, then lets go of the database. May be called twice. */
  close(): Promise<void>;
}
