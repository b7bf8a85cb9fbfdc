/** How much a store is willing to hold. */
export interface SqliteLimits {
  /** Commits that wait to be written, those being written included. */
  readonly maxWaiting: number;
  /** About how many bytes they may take up together; a single commit may take more. */
  readonly maxWaitingBytes: number;
  /** The most commits in one transaction. */
  readonly maxBatch: number;
  /** Queries that wait for their answer. */
  readonly maxQueries: number;
}

/** What holds unless a caller says otherwise. */
export const DEFAULT_LIMITS: SqliteLimits = {
  maxWaiting: 50_000,
  maxWaitingBytes: 268_435_456,
  maxBatch: 1_024,
  maxQueries: 10_000,
};
