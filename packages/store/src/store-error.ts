/** What went wrong in the store. */
export type StoreErrorCode =
  /** A change's own condition did not hold: another commit was first. */
  | "conflict"
  /** A limit is used up, by what other processes counted against it. */
  | "exhausted"
  /** The writer's lease has passed to another owner. */
  | "fenced"
  /** Another process writes to this database. */
  | "locked"
  /** No room on the disk, or the database may not grow. */
  | "full"
  /**
   * The disk failed, or a thread of the store died. Nothing can be written until the store is opened anew, and only then
   * does it show whether what was being written was kept; as a whole, if so.
   */
  | "io"
  /** The database cannot be reached, or cannot do it now; nothing of it was kept. */
  | "unavailable"
  /** More waits to be written than the store is willing to hold. */
  | "overloaded"
  /** The database was written by a newer version. */
  | "newer"
  /** The database was written by an older version, and a reader may not bring it up to date. */
  | "older"
  /** The database is damaged. */
  | "corrupt"
  /** Commits that were kept are not in the database any more. */
  | "lost"
  /** The store is closed. */
  | "closed"
  /** A change or query that the tables do not know, or arguments they cannot take. */
  | "invalid";

const RETRYABLE: ReadonlySet<StoreErrorCode> = new Set(["full", "locked", "overloaded", "unavailable"]);

/** An error of the store. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.retryable = RETRYABLE.has(code);
  }
}
