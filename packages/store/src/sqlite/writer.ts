import type { Database } from "../database.ts";
import { StoreError } from "../store-error.ts";
import type { OpenTables } from "../tables.ts";
import type { Outcome, Write } from "./messages.ts";
import { translate } from "./sqlite-database.ts";

/**
 * Applies batches of commits, each batch in one transaction. The whole batch is tried at once; only when something in
 * it fails is it undone and each commit tried alone, so that one caller's conflict is nobody else's.
 */
export class Writer {
  readonly #database: Database;
  readonly #tables: ReadonlyMap<string, OpenTables>;
  #synchronous: "FULL" | "NORMAL" | undefined;
  #broken: StoreError | undefined;

  constructor(database: Database, tables: ReadonlyMap<string, OpenTables>) {
    this.#database = database;
    this.#tables = tables;
  }

  /** The outcome of each write, in order. Never throws. */
  apply(writes: readonly Write[]): Outcome[] {
    if (this.#broken) return writes.map(() => failed(this.#broken));
    try {
      return this.#transact(writes).map((results) => ({ results }));
    } catch (error) {
      const fault = this.#undo(error);
      if (writes.length > 1 && !isOfTheDisk(fault)) return writes.flatMap((write) => this.apply([write]));
      return writes.map(() => failed(fault));
    }
  }

  #transact(writes: readonly Write[]): unknown[][] {
    this.#wait(writes.some(({ durable }) => durable) ? "FULL" : "NORMAL");
    this.#database.exec("BEGIN IMMEDIATE");
    const results = writes.map(({ changes }) =>
      changes.map(({ tables, name, args }) => this.#operation(tables, name)(args)),
    );
    this.#database.exec("COMMIT");
    return results;
  }

  /** Whether the next transaction waits for the disk. */
  #wait(synchronous: "FULL" | "NORMAL"): void {
    if (this.#synchronous === synchronous) return;
    this.#database.exec(`PRAGMA synchronous = ${synchronous}`);
    this.#synchronous = synchronous;
  }

  #operation(tables: string, name: string): (args: unknown) => unknown {
    const operation = this.#tables.get(tables)?.changes[name];
    if (!operation) throw new StoreError("invalid", `there is no change "${tables}.${name}"`);
    return operation;
  }

  /** Takes everything back; a disk that cannot even do that, or that lost what it had taken, is not trusted again. */
  #undo(error: unknown): Error {
    const fault = translate(error);
    try {
      this.#database.exec("ROLLBACK");
    } catch {
      // SQLite has rolled back by itself, as it does after most failures of the disk.
    }
    if (fault instanceof StoreError && (fault.code === "io" || fault.code === "corrupt"))
      this.#broken = fault;
    for (const { undone } of this.#tables.values()) undone?.();
    return fault;
  }
}

function isOfTheDisk(fault: Error): boolean {
  return fault instanceof StoreError && ["full", "io", "corrupt", "locked"].includes(fault.code);
}

function failed(fault: Error | undefined): Outcome {
  const code = fault instanceof StoreError ? fault.code : "invalid";
  return { error: { code, message: fault?.message ?? "unknown" } };
}
