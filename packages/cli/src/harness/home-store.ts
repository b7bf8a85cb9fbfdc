import { hostTables } from "@reins/host/tables";
import { ledgerTables } from "@reins/ledger/tables";
import { serverTables } from "@reins/server/tables";
import {
  type Operations,
  type PreparedSqlite,
  prepareSqlite,
  type Store,
  type StoreLoss,
  type Tables,
} from "@reins/store";
import { harnessTables } from "@reins/supervisor/tables";
import { privateDatabase, realDatabase } from "../home.ts";

/** The tables of a home. */
export const homeTables: readonly Tables<Operations, Operations>[] = [
  ledgerTables,
  ...harnessTables,
  ...hostTables,
  ...serverTables,
];

/** The store of a home. Its threads are started long before it is needed, because they take their time to begin. */
export class HomeStore {
  /** What the database lacks of what was written to it, though it was opened. */
  readonly losses: StoreLoss[] = [];
  readonly #home: string;
  readonly #acceptLoss: boolean;
  #prepared: PreparedSqlite | undefined;
  #opening: Promise<Store> | undefined;

  private constructor(home: string, acceptLoss: boolean) {
    this.#home = home;
    this.#acceptLoss = acceptLoss;
  }

  /** Starts the threads; no file is touched. */
  static async prepare(home: string, { acceptLoss = false } = {}): Promise<HomeStore> {
    const store = new HomeStore(home, acceptLoss);
    store.#prepared = await store.#prepare();
    return store;
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
