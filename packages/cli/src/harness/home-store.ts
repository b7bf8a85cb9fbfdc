import { type PreparedSqlite, prepareSqlite, type Store } from "@reins/store";
import { realDatabase } from "../home.ts";
import { homeTables } from "./home-tables.ts";

/** The store of a home. Its threads are started long before it is needed, because they take their time to begin. */
export class HomeStore {
  readonly #home: string;
  #prepared: PreparedSqlite | undefined;
  #opening: Promise<Store> | undefined;

  private constructor(home: string, prepared: PreparedSqlite) {
    this.#home = home;
    this.#prepared = prepared;
  }

  /** Starts the threads; no file is touched. */
  static async prepare(home: string): Promise<HomeStore> {
    return new HomeStore(home, await prepared(home));
  }

  /** Begins to open the database, for whoever asks for it next. */
  begin(): void {
    const opening = this.#opening ?? this.#open();
    this.#opening = opening;
    // Whoever asks then tries for themselves, and hears why it cannot be.
    opening.catch(() => {
      if (this.#opening === opening) this.#opening = undefined;
    });
  }

  /** The store, open; it is the caller's from then on. Who asks again has it opened anew. */
  open(): Promise<Store> {
    const opening = this.#opening ?? this.#open();
    this.#opening = undefined;
    return opening;
  }

  /** Ends what nobody asked for. */
  async close(): Promise<void> {
    await this.#prepared?.end();
    const store = await this.#opening?.catch(() => undefined);
    await store?.close();
  }

  async #open(): Promise<Store> {
    const first = this.#prepared;
    this.#prepared = undefined;
    return (first ?? (await prepared(this.#home))).open();
  }
}

async function prepared(home: string): Promise<PreparedSqlite> {
  return prepareSqlite({ path: await realDatabase(home), tables: homeTables });
}
