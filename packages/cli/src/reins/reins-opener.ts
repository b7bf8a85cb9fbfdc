import type { AgentRunner } from "@reins/haak";
import type { Hosting } from "@reins/host";
import { errorMessage } from "@reins/kit";
import type { Membership, ServedReins } from "@reins/server";
import { StoreError } from "@reins/store";
import type { Harness } from "@reins/supervisor";
import { CliError } from "../errors.ts";
import { DamagedHome } from "../ledger/ledger-error.ts";
import type { Log } from "../log.ts";

export type OpenedReins = Pick<ServedReins, "harness" | "hosting" | "runner" | "close" | "abandonAfter"> & {
  /** What this Reins is among several. */
  readonly membership?: Membership | undefined;
};

interface ReinsOpenerOptions {
  /** Opens the harness; `report` receives its later errors. */
  readonly open: (report: (error: unknown) => void) => Promise<OpenedReins>;
  readonly log: Pick<Log, "error">;
  /** Milliseconds from any origin. */
  readonly now: () => number;
}

/** The shortest time between two attempts to open the harness. */
const RETRY_MS = 1_000;
/** How long to wait before a database that cannot be reached is tried again. */
const AWAY_MS = 5_000;
/** How long running turns have to end when Reins stops. */
const GRACE_MS = 5_000;

/**
 * Opens the harness of a home while the server already listens; callers wait for it. Opens it again after its store
 * failed.
 */
export class ReinsOpener {
  /** Rejects when only a person can solve the problem. */
  readonly refused: Promise<never>;
  readonly #options: ReinsOpenerOptions;
  readonly #refuse: (error: CliError) => void;
  #opening: Promise<OpenedReins> | undefined;
  #port: OpenedReins | undefined;
  #failedAt: number | undefined;
  #closed = false;

  constructor(options: ReinsOpenerOptions) {
    this.#options = options;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.refused = promise;
    this.#refuse = reject;
  }

  /** Errors go to the log and to the callers. */
  start(): void {
    this.#opened().catch(() => undefined);
  }

  readonly harness = async (): Promise<Harness> => (await this.#opened()).harness;

  readonly hosting = async (): Promise<Hosting> => (await this.#opened()).hosting;

  readonly runner = async (): Promise<AgentRunner> => (await this.#opened()).runner;

  readonly membership = async (): Promise<Membership | undefined> => (await this.#opened()).membership;

  /** Why durable runs wait, if they do. */
  readonly runsOutage = (): string | undefined => this.#port?.hosting.graphs.outage;

  /** Ends turns if the harness is open; those that take longer than the grace period are cut off. */
  async interrupt(): Promise<void> {
    const interrupting = this.#port?.hosting.hub.interrupt(GRACE_MS);
    await interrupting?.catch((error: unknown) => this.#logError(error, "turns could not be ended"));
  }

  async close(): Promise<void> {
    this.#closed = true;
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.close().catch((error: unknown) => this.#logError(error, "the ledger could not be closed"));
  }

  #opened(): Promise<OpenedReins> {
    const { now } = this.#options;
    if (this.#failedAt !== undefined && !this.#closed && now() - this.#failedAt >= RETRY_MS) {
      this.#opening = undefined;
      this.#failedAt = undefined;
    }
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<OpenedReins> {
    try {
      const opening = Promise.withResolvers<OpenedReins>();
      const report = (error: unknown) => {
        this.#logError(error, "a background task failed");
        void opening.promise.then((opened) => this.#abandonAfter(opened, error));
      };
      opening.resolve(await this.#options.open(report));
      this.#port = await opening.promise;
      return this.#port;
    } catch (error) {
      // Callers and the health check get the error; opening again would not help.
      if (error instanceof DamagedHome) {
        this.#logError(
          error,
          "nothing is allowed, because this home is damaged or was rolled back",
          error.next,
        );
        throw error;
      }
      this.#failedAt = this.#options.now();
      if (error instanceof CliError) this.#refuse(error);
      else this.#logError(error, "the home cannot be opened, so nothing is allowed");
      if (error instanceof StoreError && error.code === "unavailable") this.#openLater();
      throw error;
    }
  }

  /** A database that is away comes back while no client asks for anything. */
  #openLater(): void {
    setTimeout(() => !this.#closed && this.start(), AWAY_MS).unref();
  }

  /** After an error that makes the store unusable, the next caller opens the harness again. */
  async #abandonAfter(opened: OpenedReins, error: unknown): Promise<void> {
    if (this.#closed || !(await opened.abandonAfter(error))) return;
    if (this.#port === opened) this.#port = undefined;
    if ((await this.#opening?.catch(() => undefined)) === opened) this.#failedAt = this.#options.now();
  }

  #logError(error: unknown, message: string, next?: string): void {
    this.#options.log.error({ error: errorMessage(error), ...(next !== undefined && { next }) }, message);
  }
}
