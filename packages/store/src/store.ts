import type { Change, Operations, Tables } from "./tables.ts";

/** How a commit is to be kept. */
export interface CommitOptions {
  /**
   * Whether it must survive a power cut. If not, it survives the death of the process but is not waited for on the
   * disk. By default it must.
   */
  readonly durable?: boolean;
  /** Whether it may wait: it is sent with the next commit, or by itself within a few milliseconds. */
  readonly relaxed?: boolean;
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

/** The result of a commit: that of each change, in order. */
export type Results<Changes extends readonly Change<unknown>[]> = {
  [Index in keyof Changes]: Changes[Index] extends Change<infer Result> ? Result : never;
};

/** The part of a store that only reads. */
export interface StoreReader {
  /**
   * Reads; sees every commit that had settled when it was asked, and one state of the database however many statements
   * it takes.
   */
  query<Queries extends Operations, Name extends keyof Queries & string>(
    tables: Tables<Operations, Queries>,
    name: Name,
    args: Parameters<Queries[Name]>[0],
  ): Promise<ReturnType<Queries[Name]>>;

  /** Copies the database to a new file, while writes continue. */
  backup(path: string): Promise<void>;
  /** Closes the database. May be called twice. */
  close(): Promise<void>;
}

/**
 * The database. One commit changes whatever tables it likes, all or nothing; commits are applied in the order in
 * which they were asked for. Every rejection is a {@link StoreError}.
 */
export interface Store extends StoreReader {
  /** Applies the changes together. Settles when they are kept as asked; until then their arguments stay as they are. */
  commit<const Changes extends readonly Change<unknown>[]>(
    changes: Changes,
    options?: CommitOptions,
  ): Promise<Results<Changes>>;

  /** Takes a lease that is free, has expired, or belongs to the owner already; else `undefined`. */
  claim(name: string, owner: string, milliseconds: number): Promise<Lease | undefined>;
  /** Holds a lease for longer; `undefined` when it has passed on. */
  renew(lease: Lease, milliseconds: number): Promise<Lease | undefined>;
  /** Releases a lease; nothing more can be written under it. */
  release(lease: Lease): Promise<void>;

  /**
   * Writes the whole database anew, so that nothing of what was deleted or replaced before is left in its files. Takes a
   * while and room for a second copy; rejects as `locked` while another reader is active.
   */
  scrub(): Promise<void>;

  /** Flushes the queue, then closes the database. May be called twice. */
  close(): Promise<void>;
}
