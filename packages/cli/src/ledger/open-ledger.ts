import { randomBytes } from "node:crypto";
import { KeyFolder, Ledger, LedgerError, LedgerReader, ledgerTables } from "@reins/ledger";
import type { Operations, Store, StoreReader, Tables } from "@reins/store";
import { keysIn, tightenHome } from "../home.ts";
import { hasDatabase, openHomeDatabase, openHomeReader } from "../home-database.ts";
import { type Notice, noticeOnStderr } from "../output.ts";
import { acceptSeen, checkSeen } from "./check-seen.ts";
import { ledgerError, noLedger } from "./ledger-error.ts";
import { CheckpointRecorder, SeenCheckpoints } from "./seen-checkpoints.ts";

/** What the exit codes of a command mean that reads the ledger. */
export const READING = {
  done: "done",
  failed: "failed, or the ledger is not the one seen before",
  usage: "wrong usage",
  unreachable: "there is no ledger, or it cannot be read",
} as const;

/** The same for a command that writes to it. */
export const WRITING = { ...READING, taken: "another process writes to it, most likely reins up" } as const;

interface LedgerFlags {
  readonly home: string;
  readonly json?: boolean | undefined;
  /** By default that of this process. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
}

/** Reads the ledger of a home, also while a server writes to it, after checking it against what was seen before. */
export async function readLedger<Result>(
  { home, json, environment }: LedgerFlags,
  read: (ledger: LedgerReader, home: string) => Promise<Result>,
): Promise<Result> {
  if (!(await hasDatabase(home, environment))) throw noLedger(home);
  let store: StoreReader | undefined;
  try {
    await tightenHome(home, noticeOnStderr(json));
    store = await openHomeReader(home, [ledgerTables], environment);
    const ledger = await LedgerReader.of(store).catch((error: unknown) => {
      throw error instanceof LedgerError && error.code === "not_found" ? noLedger(home, error) : error;
    });
    await checkSeen(ledger, home, SeenCheckpoints.ofUser(process.env), noticeOnStderr(json));
    return await read(ledger, home);
  } catch (error) {
    throw ledgerError(error, home);
  } finally {
    await store?.close();
  }
}

interface WriteOptions {
  readonly home: string;
  /** By default only the tables of the ledger. */
  readonly tables?: readonly Tables<Operations, Operations>[];
  /** Opens the database, which is closed with the ledger. */
  readonly openStore?: () => Promise<Store>;
  readonly seen: SeenCheckpoints;
  readonly notice: Notice;
  readonly onCheckpointError?: (error: unknown) => void;
  /** Whether to open a ledger that does not extend what was seen. */
  readonly acceptLoss?: boolean | undefined;
  readonly onLoss?: ((text: string) => void) | undefined;
}

/** The ledger of a home, for the one process that may write to it. */
export class WritableLedger {
  readonly ledger: Ledger;
  readonly store: Store;
  readonly #options: WriteOptions;
  readonly #recorder: CheckpointRecorder;

  private constructor(ledger: Ledger, store: Store, options: WriteOptions, recorder: CheckpointRecorder) {
    this.ledger = ledger;
    this.store = store;
    this.#options = options;
    this.#recorder = recorder;
  }

  /** Opens or creates the ledger of a home. Rejects one that was changed since it was last seen. */
  static async open(options: WriteOptions): Promise<WritableLedger> {
    const { home, onCheckpointError, openStore, seen, notice, tables = [ledgerTables] } = options;
    await tightenHome(home, notice);
    const recorder = new CheckpointRecorder({ home, seen, notice });
    const store = await (openStore ?? (() => openHomeDatabase(home, tables)))();
    try {
      const existing = await checkExisting(store, options);
      const ledger = await Ledger.open({
        store,
        signers: new KeyFolder(keysIn(home)),
        newOrigin: () => `reins/${randomBytes(8).toString("hex")}`,
        onCheckpoint: (note, logKey) => recorder.record({ note, logKey }),
        ...(onCheckpointError && { onCheckpointError }),
      });
      if (!existing) await checkSeen(ledger, home, seen, notice);
      return new WritableLedger(ledger, store, options, recorder);
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** Covers the last entries with a checkpoint, stores it as seen, and closes the home. */
  async close(): Promise<void> {
    try {
      await this.ledger.close();
      await this.#recorder.close();
      await checkSeen(this.ledger, this.#options.home, this.#options.seen, this.#options.notice);
    } finally {
      await this.store.close();
    }
  }

  /** Closes the home at once, after a failure. */
  async abandon(): Promise<void> {
    await this.#recorder.close();
    await this.store.close();
  }
}

/** Checks an existing ledger. Returns whether there is one. */
async function checkExisting(store: Store, options: WriteOptions): Promise<boolean> {
  const { home, seen, notice, acceptLoss, onLoss } = options;
  const existing = await LedgerReader.of(store).catch((error: unknown) => {
    if (error instanceof LedgerError && error.code === "not_found") return undefined;
    throw error;
  });
  if (existing && acceptLoss) {
    const lost = await acceptSeen(existing, home, seen, notice);
    if (lost !== undefined) onLoss?.(lost);
  } else if (existing) await checkSeen(existing, home, seen, notice);
  return existing !== undefined;
}
