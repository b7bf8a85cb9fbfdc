import { randomBytes } from "node:crypto";
import { KeyFolder, KeyRing, Ledger, LedgerError, LedgerReader, ledgerTables } from "@reins/ledger";
import { type Operations, openSqlite, type Store, type Tables } from "@reins/store";
import { keysIn, realDatabase } from "../home.ts";
import type { Notice } from "../notice.ts";
import { checkSeen } from "./check-seen.ts";
import type { SeenCheckpoints } from "./seen-checkpoints.ts";

/** What opening a ledger for writing needs to know. */
export interface WriteOptions {
  readonly home: string;
  /** What the database holds, the ledger's own tables among it; by default only those. */
  readonly tables?: readonly Tables<Operations, Operations>[];
  /** Opens the database, which is closed with the ledger; by default with those tables. */
  readonly openStore?: () => Promise<Store>;
  readonly seen: SeenCheckpoints;
  readonly notice: Notice;
  /** Told when a checkpoint could not be made. */
  readonly onCheckpointError?: (error: unknown) => void;
}

/** The ledger of a home, for the one process that may write to it. */
export class WritableLedger {
  readonly ledger: Ledger;
  readonly store: Store;
  readonly #options: WriteOptions;

  private constructor(ledger: Ledger, store: Store, options: WriteOptions) {
    this.ledger = ledger;
    this.store = store;
    this.#options = options;
  }

  /** Opens the ledger of a home, or begins it. Nothing is added to one that was changed since it was last seen. */
  static async open(options: WriteOptions): Promise<WritableLedger> {
    const { home, onCheckpointError, openStore, tables = [ledgerTables] } = options;
    const store = await (openStore?.() ?? openSqlite({ path: await realDatabase(home), tables }));
    try {
      const begun = await checkBegun(store, options);
      const ledger = await Ledger.open({
        store,
        signers: new KeyRing(new KeyFolder(keysIn(home))),
        newOrigin: () => `reins/${randomBytes(8).toString("hex")}`,
        ...(onCheckpointError && { onCheckpointError }),
      });
      if (!begun) await checkSeen(ledger, home, options.seen, options.notice);
      return new WritableLedger(ledger, store, options);
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** Covers what was written with a checkpoint, keeps that as seen, and lets go of the home. */
  async close(): Promise<void> {
    try {
      await this.ledger.close();
      await checkSeen(this.ledger, this.#options.home, this.#options.seen, this.#options.notice);
    } finally {
      await this.store.close();
    }
  }

  /** Lets go of the home at once, after a failure. */
  async abandon(): Promise<void> {
    await this.store.close();
  }
}

/** Checks a ledger that was begun; whether it was. */
async function checkBegun(store: Store, { home, seen, notice }: WriteOptions): Promise<boolean> {
  const begun = await LedgerReader.of(store).catch((error: unknown) => {
    if (error instanceof LedgerError && error.code === "not_found") return undefined;
    throw error;
  });
  if (begun) await checkSeen(begun, home, seen, notice);
  return begun !== undefined;
}
