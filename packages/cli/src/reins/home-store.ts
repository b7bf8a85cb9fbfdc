import { homeTables } from "@reins/server/tables";
import {
  type PostgresAddress,
  type PreparedSqlite,
  prepareSqlite,
  type Store,
  type StoreLoss,
  type StoreNode,
  shownAddress,
} from "@reins/store";
import { linkDatabase } from "../commands/up/locations.ts";
import { CliError } from "../errors.ts";
import { privateDatabase, realDatabase } from "../home.ts";
import { openHomePostgres, postgresOf } from "../home-database.ts";

interface Prepared {
  readonly acceptLoss?: boolean;
  /** The path of a database that is not in the home. */
  readonly database?: string | undefined;
  /** What this process is among several on a database. */
  readonly node?: StoreNode | undefined;
}

/** The store of a home. Starts the threads of SQLite early, because that takes time. */
export class HomeStore {
  /** What is missing from the opened database. */
  readonly losses: StoreLoss[] = [];
  readonly #home: string;
  readonly #acceptLoss: boolean;
  readonly #postgres: PostgresAddress | undefined;
  readonly #node: StoreNode | undefined;
  #prepared: PreparedSqlite | undefined;
  #opening: Promise<Store> | undefined;

  private constructor(
    home: string,
    postgres: PostgresAddress | undefined,
    { acceptLoss = false, node }: Prepared,
  ) {
    this.#home = home;
    this.#acceptLoss = acceptLoss;
    this.#postgres = postgres;
    this.#node = node;
  }

  /** Starts the threads without touching a file, but for the link to a database elsewhere. */
  static async prepare(home: string, prepared: Prepared = {}): Promise<HomeStore> {
    const { database } = prepared;
    const postgres = await postgresOf(home);
    if (postgres && database !== undefined)
      throw new CliError(`${database} and ${shownAddress(postgres)} are two databases.`, {
        next: "Leave out --db, REINS_DB and db for PostgreSQL, or REINS_STORE and store for SQLite.",
      });
    if (database !== undefined) await linkDatabase(home, database);
    const store = new HomeStore(home, postgres, prepared);
    if (!postgres) store.#prepared = await store.#prepare();
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
    const common = this.#common;
    if (this.#postgres)
      return openHomePostgres({ home: this.#home, address: this.#postgres, node: this.#node, ...common });
    const first = this.#prepared;
    this.#prepared = undefined;
    await privateDatabase(await realDatabase(this.#home));
    return (first ?? (await this.#prepare())).open();
  }

  async #prepare(): Promise<PreparedSqlite> {
    return prepareSqlite({ path: await realDatabase(this.#home), ...this.#common });
  }

  get #common() {
    const onLoss = (loss: StoreLoss) => void this.losses.push(loss);
    return { tables: homeTables, acceptLoss: this.#acceptLoss, onLoss };
  }
}
