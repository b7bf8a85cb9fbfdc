import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ManualClock } from "@reins/kit/manual-clock";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openSqlite, type Store } from "@reins/store";
import { Identity, type IdentityOptions } from "../src/identity/identity.ts";
import { identityTables } from "../src/identity/tables/tables.ts";

/** A new folder, and how to get rid of it. */
export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "identity-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Identity on a real database, with a ledger beside it and a clock that stands still. */
export class Home implements AsyncDisposable {
  readonly database: string;
  readonly clock: ManualClock;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly identity: Identity;

  private constructor(
    database: string,
    store: Store,
    ledger: Ledger,
    identity: Identity,
    clock: ManualClock,
  ) {
    this.database = database;
    this.store = store;
    this.ledger = ledger;
    this.identity = identity;
    this.clock = clock;
  }

  /** Opens the database in a folder, new or not. */
  static async open(folder: string, options: Partial<IdentityOptions> = {}): Promise<Home> {
    const database = join(folder, "reins.db");
    const store = await openSqlite({ path: database, tables: [ledgerTables, identityTables] });
    const signers = new KeyFolder(join(folder, "keys"));
    const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/test" });
    const clock = new ManualClock("2026-11-15T05:20:00.000Z");
    const identity = await Identity.open({ store, ledger, clock, ...options });
    return new Home(database, store, ledger, identity, clock);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ledger.close();
    await this.store.close();
  }
}
