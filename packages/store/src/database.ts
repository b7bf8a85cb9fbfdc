/** A prepared statement. */
export interface Statement {
  run(...parameters: readonly unknown[]): {
    readonly changes: number;
    readonly lastInsertRowid: number | bigint;
  };
  get(...parameters: readonly unknown[]): unknown;
  all(...parameters: readonly unknown[]): unknown[];
}

/**
 * The database as tables and the writer see it. It is a port: faults of the disk are injected here, and everything
 * that reaches the disk does so through {@link exec} and statements.
 */
export interface Database {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  /** Whether a transaction is open; some failures end it without being asked. */
  readonly inTransaction: boolean;
  close(): void;
}
