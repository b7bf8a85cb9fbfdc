import type { StoreReader } from "../store.ts";
import { StoreError } from "../store-error.ts";
import type { Operations, Tables } from "../tables.ts";
import type { ThreadPort } from "./thread-port.ts";

/** Queries of a database in SQLite, answered by a thread of their own. */
export class SqliteReader implements StoreReader {
  readonly #thread: ThreadPort;
  readonly #maxQueries: number;
  #closing: Promise<void> | undefined;

  constructor(thread: ThreadPort, maxQueries: number) {
    this.#thread = thread;
    this.#maxQueries = maxQueries;
  }

  async query<Queries extends Operations, Name extends keyof Queries & string>(
    tables: Tables<Operations, Queries>,
    name: Name,
    args: Parameters<Queries[Name]>[0],
  ): Promise<ReturnType<Queries[Name]>> {
    this.#expectOpen();
    if (this.#thread.waiting >= this.#maxQueries) {
      throw new StoreError("overloaded", `${this.#maxQueries} queries wait already; try again later`);
    }
    const found = await this.#thread.ask({ kind: "query", tables: tables.name, name, args });
    // What comes back is what the tables' own query gave, whose type the caller's tables carry.
    return found as ReturnType<Queries[Name]>;
  }

  async backup(path: string): Promise<void> {
    this.#expectOpen();
    await this.#thread.ask({ kind: "backup", path });
  }

  close(): Promise<void> {
    this.#closing ??= this.#thread.end();
    return this.#closing;
  }

  #expectOpen(): void {
    if (this.#closing) throw new StoreError("closed", "the store is closed");
  }
}
