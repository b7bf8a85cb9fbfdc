import type { AhpEvent } from "@reins/ahp";
import type { Draft } from "@reins/ledger";
import { StoreError, type StoreErrorCode } from "@reins/store";
import { keysIn } from "../../../home.ts";
import { SeenCheckpoints } from "../../../ledger/seen-checkpoints.ts";
import { WritableLedger } from "../../../ledger/write-ledger.ts";
import type { Log } from "../../../log/logger.ts";
import { version } from "../../../version.ts";
import { Commitment } from "./commitment.ts";
import { serverDraft, sessionDraft, type Verdict, verdictDraft } from "./drafts.ts";

/** After these a store takes nothing more until it is opened anew. */
const BROKEN: ReadonlySet<StoreErrorCode> = new Set(["io", "corrupt", "closed"]);

/** The ledger of a home, ready to take what `reins up` records. */
export class OpenRecord {
  readonly #writable: WritableLedger;
  readonly #commitment: Commitment;

  private constructor(writable: WritableLedger, commitment: Commitment) {
    this.#writable = writable;
    this.#commitment = commitment;
  }

  /** Opens the ledger of a home and records that the server started. */
  static async open(home: string, log: Log): Promise<OpenRecord> {
    const writable = await WritableLedger.open({
      home,
      seen: SeenCheckpoints.ofUser(process.env),
      notice: (message) => log.info(message),
      onCheckpointError: (error) => log.error({ err: error }, "a checkpoint could not be made"),
    });
    try {
      const record = new OpenRecord(writable, await Commitment.open(keysIn(home)));
      await record.#write(serverDraft("server_start", version()));
      const { origin } = writable.ledger;
      log.info({ ledger: origin }, `what is decided is recorded in the ledger ${origin}`);
      return record;
    } catch (error) {
      await writable.abandon();
      throw error;
    }
  }

  /** Records a verdict; settles when it would survive a power cut. */
  verdict(event: AhpEvent, verdict: Verdict): Promise<void> {
    return this.#write(verdictDraft(event, verdict, this.#commitment));
  }

  /** Records that a session began or ended. */
  session(event: AhpEvent): Promise<void> {
    return this.#write(sessionDraft(event, this.#commitment), false);
  }

  /** Records that the server stopped, and lets go of the home. */
  async close(): Promise<void> {
    try {
      await this.#write(serverDraft("server_stop", version()));
    } finally {
      await this.#writable.close();
    }
  }

  /** Lets go of the home after an error, if that error is one after which nothing can be written any more. */
  async abandonAfter(error: unknown): Promise<boolean> {
    if (!(error instanceof StoreError) || !BROKEN.has(error.code)) return false;
    await this.#writable.abandon();
    return true;
  }

  async #write(draft: Draft, durable = true): Promise<void> {
    await this.#writable.ledger.record([draft], { durable });
  }
}
