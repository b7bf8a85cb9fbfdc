import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { MarkPrefix } from "../process/mark.ts";
import { killJournalIn, killSocketIn } from "./journal.ts";
import type { FromKillThread, KillThreadData, ToKillThread } from "./kill-thread.ts";
import type { KillOrder, KillReport } from "./order.ts";
import type { ProcessRegister } from "./process-registry.ts";

/** Where the code of the thread is, whether it runs from source or was built. */
const CODE = import.meta.url.endsWith(".ts")
  ? new URL("./kill-thread.ts", import.meta.url)
  : new URL("./kill-thread.js", import.meta.url);

/** What a switch stands on. */
export interface KillSwitchOptions {
  readonly home: string;
  readonly register: ProcessRegister;
  readonly prefix: MarkPrefix;
  /** Told of the sessions whose agents are about to be ended. */
  readonly onEnding: (sessions: readonly string[]) => void;
  /** Writes down what was done and ends what only Reins itself can; gives the ledger entry. */
  readonly onKilled: (report: KillReport) => Promise<string>;
  readonly onError: (error: unknown) => void;
}

/** Ends agents from a thread of its own, which goes on when this one is blocked. */
export class KillSwitch {
  readonly #options: KillSwitchOptions;
  readonly #worker: Worker;
  readonly #unfollow: () => void;
  #isDead = false;
  readonly #waiting = new Map<string, (answer: Promise<Killed | undefined>) => void>();

  private constructor(options: KillSwitchOptions, worker: Worker) {
    this.#options = options;
    this.#worker = worker;
    worker.on("message", (message: FromKillThread) => this.#take(message));
    worker.on("error", options.onError);
    worker.once("exit", () => this.#ended());
    this.#unfollow = options.register.follow((news) => this.#tell(news));
  }

  /** Starts the thread, and waits until it listens. */
  static async open(options: KillSwitchOptions): Promise<KillSwitch> {
    const { home, prefix } = options;
    const data: KillThreadData = { socket: killSocketIn(home), journal: killJournalIn(home), prefix };
    const worker = new Worker(CODE, { workerData: data });
    worker.unref();
    const [first]: FromKillThread[] = await once(worker, "message");
    if (first && "failed" in first) {
      await worker.terminate();
      throw new Error(`agents could not be ended from outside: ${first.failed}`);
    }
    return new KillSwitch(options, worker);
  }

  /** Carries an order out; `undefined` when it is about nobody. */
  kill(order: KillOrder): Promise<Killed | undefined> {
    if (this.#isDead) return Promise.reject(dead());
    const { promise, resolve } = Promise.withResolvers<Killed | undefined>();
    this.#waiting.set(order.id, resolve);
    this.#worker.ref();
    this.#tell({ order });
    return promise.finally(() => this.#worker.unref());
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    this.#unfollow();
    await this.#worker.terminate();
  }

  /** Nobody is left who could carry out what was ordered. */
  #ended(): void {
    this.#isDead = true;
    for (const id of [...this.#waiting.keys()]) this.#settle(id, Promise.reject(dead()));
  }

  #take(message: FromKillThread): void {
    if ("failed" in message) this.#options.onError(new Error(message.failed));
    else if ("ending" in message) this.#options.onEnding(message.ending);
    else if ("nothing" in message) this.#settle(message.nothing, Promise.resolve(undefined));
    else if ("broken" in message) this.#settle(message.broken, Promise.reject(new Error(message.reason)));
    else if ("report" in message) this.#settle(message.report.id, this.#killed(message.report));
  }

  async #killed(report: KillReport): Promise<Killed> {
    try {
      const entry = await this.#options.onKilled(report);
      this.#tell({ recorded: report.id, entry });
      return { report, entry };
    } catch (error) {
      // The journal has it, so that the next start writes it.
      this.#options.onError(error);
      return { report, entry: null };
    }
  }

  #settle(id: string, answer: Promise<Killed | undefined>): void {
    answer.catch(() => undefined);
    this.#waiting.get(id)?.(answer);
    this.#waiting.delete(id);
  }

  #tell(message: ToKillThread): void {
    this.#worker.postMessage(message);
  }
}

function dead(): Error {
  return new Error("the thread that ends agents has ended; restart Reins");
}

/** What became of an order, and the ledger entry that says so; null when it could not be written yet. */
export interface Killed {
  readonly report: KillReport;
  readonly entry: string | null;
}
