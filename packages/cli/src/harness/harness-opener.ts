import type { AgentRunner, Hosting } from "@reins/host";
import type { Harness } from "@reins/supervisor";
import { CliError, errorMessage } from "../errors.ts";
import type { OpenRunner } from "../hosting/open-runner.ts";
import { DamagedHome } from "../ledger/ledger-error.ts";
import type { Log } from "../log.ts";

/** A harness that is open. */
export type OpenedHarness = Pick<OpenRunner, "harness" | "hosting" | "runner" | "close" | "abandonAfter">;

/** What a door needs. */
interface HarnessOpenerOptions {
  /** Opens the harness, which reports what went wrong in it later. */
  readonly open: (report: (error: unknown) => void) => Promise<OpenedHarness>;
  readonly log: Pick<Log, "error">;
  /** Milliseconds from any beginning. */
  readonly now: () => number;
}

/** A harness that could not be opened is tried again for whoever needs it next, but not more often than this. */
const RETRY_MS = 1_000;
/** How long turns that are under way may take to end once Reins is to stop. */
const GRACE_MS = 5_000;

/**
 * The way to the harness of a home. Opening takes longer than listening, so it happens beside that, and whoever comes
 * first waits for it; one whose store broke is opened anew.
 */
export class HarnessOpener {
  /** Rejects when this Reins cannot go on, because of something that only a person can put right. */
  readonly refused: Promise<never>;
  readonly #options: HarnessOpenerOptions;
  readonly #refuse: (error: CliError) => void;
  #opening: Promise<OpenedHarness> | undefined;
  /** The one that is open, if one is. */
  #port: OpenedHarness | undefined;
  #failedAt: number | undefined;
  #closed = false;

  constructor(options: HarnessOpenerOptions) {
    this.#options = options;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.refused = promise;
    this.#refuse = reject;
  }

  /** Begins to open the harness. What goes wrong is told to the log, and to whoever comes. */
  start(): void {
    this.#opened().catch(() => undefined);
  }

  /** The harness, once it is open. */
  readonly harness = async (): Promise<Harness> => (await this.#opened()).harness;

  /** What runs agents, once it is open. */
  readonly hosting = async (): Promise<Hosting> => (await this.#opened()).hosting;

  /** What runs the sessions of `/ws`, once it is open. */
  readonly runner = async (): Promise<AgentRunner> => (await this.#opened()).runner;

  /** Ends turns, if the harness is open: those that do not end by themselves soon are cut off. */
  async interrupt(): Promise<void> {
    const interrupting = this.#port?.hosting.hub.interrupt(GRACE_MS);
    await interrupting?.catch((error: unknown) => this.#tell(error, "turns could not be ended"));
  }

  /** Closes the harness. */
  async close(): Promise<void> {
    this.#closed = true;
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.close().catch((error: unknown) => this.#tell(error, "the record could not be closed"));
  }

  #opened(): Promise<OpenedHarness> {
    const { now } = this.#options;
    if (this.#failedAt !== undefined && !this.#closed && now() - this.#failedAt >= RETRY_MS) {
      this.#opening = undefined;
      this.#failedAt = undefined;
    }
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<OpenedHarness> {
    try {
      const opening = Promise.withResolvers<OpenedHarness>();
      const report = (error: unknown) => {
        this.#tell(error, "something went wrong in the background");
        void opening.promise.then((opened) => this.#abandonAfter(opened, error));
      };
      opening.resolve(await this.#options.open(report));
      this.#port = await opening.promise;
      return this.#port;
    } catch (error) {
      // Who asks meanwhile, and whoever looks at the health of this Reins, is told; opening it again changes nothing.
      if (error instanceof DamagedHome) {
        this.#tell(error, "nothing is allowed, because this home is damaged or was rolled back", error.next);
        throw error;
      }
      this.#failedAt = this.#options.now();
      if (error instanceof CliError) this.#refuse(error);
      else this.#tell(error, "the home cannot be opened, so nothing is allowed");
      throw error;
    }
  }

  /** After an error that leaves nothing to write to, whoever comes later finds the harness opened anew. */
  async #abandonAfter(opened: OpenedHarness, error: unknown): Promise<void> {
    if (this.#closed || !(await opened.abandonAfter(error))) return;
    if (this.#port === opened) this.#port = undefined;
    if ((await this.#opening?.catch(() => undefined)) === opened) this.#failedAt = this.#options.now();
  }

  #tell(error: unknown, message: string, next?: string): void {
    this.#options.log.error({ error: errorMessage(error), ...(next !== undefined && { next }) }, message);
  }
}
