import { homeTables } from "@reins/server/tables";
import { type PreparedSqlite, prepareSqlite, type Store, type StoreLoss } from "@reins/store";
import { privateDatabase, realDatabase } from "../home.ts";

/** The store of a home. Starts its threads early, because that takes time. */
export class HomeStore {
  /** What is missing from the opened database. */
  readonly losses: StoreLoss[] = [];
  readonly #home: string;
  readonly #acceptLoss: boolean;
  #prepared: PreparedSqlite | undefined;
  #opening: Promise<Store> | undefined;

  private constructor(home: string, acceptLoss: boolean) {
    this.#home = home;
    this.#acceptLoss = acceptLoss;
  }

  /** Starts the threads without touching a file. */
  static async prepare(home: string, { acceptLoss = false } = {}): Promise<HomeStore> {
    const store = new HomeStore(home, acceptLoss);
    store.#prepared = await store.#prepare();
    return store;
  }

  /** Begins to open the database for the next call of `open`. */
  begin(): void {
    const opening = this.#opening ?? this.#open();
    this.#opening = opening;
    // The next caller tries again and gets the error.
    opening.catch(() => {
      if (this.#opening === opening) this.#opening = undefined;
    });
  }

  /** The caller owns the store. Another call opens it again. */
  open(): Promise<Store> {
    const opening = this.#opening ?? this.#open();
    this.#opening = undefined;
    return opening;
  }

  async close(): Promise<void> {
    await this.#prepared?.end();
    const store = await this.#opening?.catch(() => undefined);
    await store?.close();
  }

  async #open(): Promise<Store> {
    const first = this.#prepared;
    this.#prepared = undefined;
    await privateDatabase(await realDatabase(this.#home));
    return (first ?? (await this.#prepare())).open();
  }

  async #prepare(): Promise<PreparedSqlite> {
    return prepareSqlite({
      path: await realDatabase(this.#home),
      tables: homeTables,
      acceptLoss: this.#acceptLoss,
      onLoss: (loss) => void this.losses.push(loss),
    });
  }
}
