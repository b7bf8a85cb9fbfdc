import type { AhpEvent } from "@reins/ahp";
import { CliError } from "../../../errors/cli-error.ts";
import { textOf } from "../../../errors/render.ts";
import type { Log } from "../../../log/logger.ts";
import type { Verdict } from "./drafts.ts";
import type { OpenRecord } from "./open-record.ts";

/** A record that is open. */
export type RecordPort = Pick<OpenRecord, "verdict" | "session" | "close" | "abandonAfter">;

/** What a recorder needs. */
export interface RecorderOptions {
  readonly open: () => Promise<RecordPort>;
  readonly log: Pick<Log, "error">;
  /** Milliseconds from any beginning. */
  readonly now: () => number;
}

/** A record that could not be opened is tried again for whoever needs it next, but not more often than this. */
const RETRY_MS = 1_000;

/**
 * Records what `reins up` sees and decides. Opening takes longer than listening, so it happens beside that, and whoever
 * records first waits for it.
 */
export class Recorder {
  /** Rejects when this Reins must not go on, because its ledger is not the one it was. */
  readonly refused: Promise<never>;
  readonly #options: RecorderOptions;
  readonly #refuse: (error: CliError) => void;
  #opening: Promise<RecordPort> | undefined;
  #failedAt: number | undefined;
  #closed = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.refused = promise;
    this.#refuse = reject;
  }

  /** Begins to open the record. What goes wrong is told to the log, and to whoever records. */
  start(): void {
    this.#opened().catch(() => undefined);
  }

  /** Records a verdict; only when this has settled may the verdict be told. */
  verdict(event: AhpEvent, verdict: Verdict): Promise<void> {
    return this.#use((record) => record.verdict(event, verdict));
  }

  /** Records that a session began or ended. */
  session(event: AhpEvent): Promise<void> {
    return this.#use((record) => record.session(event));
  }

  /** Records the end and closes. */
  async close(): Promise<void> {
    this.#closed = true;
    const record = await this.#opening?.catch(() => undefined);
    await record?.close().catch((error: unknown) => this.#tell(error, "the record could not be closed"));
  }

  async #use(write: (record: RecordPort) => Promise<void>): Promise<void> {
    const opening = this.#opened();
    const record = await opening;
    try {
      await write(record);
    } catch (error) {
      this.#tell(error, "nothing can be recorded");
      if ((await record.abandonAfter(error)) && this.#opening === opening)
        this.#failedAt = this.#options.now();
      throw error;
    }
  }

  #opened(): Promise<RecordPort> {
    const { now } = this.#options;
    if (this.#failedAt !== undefined && !this.#closed && now() - this.#failedAt >= RETRY_MS) {
      this.#opening = undefined;
      this.#failedAt = undefined;
    }
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<RecordPort> {
    try {
      return await this.#options.open();
    } catch (error) {
      this.#failedAt = this.#options.now();
      if (error instanceof CliError) this.#refuse(error);
      else this.#tell(error, "the ledger cannot be opened, so nothing can be recorded");
      throw error;
    }
  }

  #tell(error: unknown, message: string): void {
    this.#options.log.error({ error: textOf(error) }, message);
  }
}
