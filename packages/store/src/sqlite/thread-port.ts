import { Worker } from "node:worker_threads";
import { StoreError } from "../store-error.ts";
import { moduleBeside } from "../tables.ts";
import type { Fault, Outcome, Reply, Request, ThreadData } from "./messages.ts";

type Question = Request extends infer One ? (One extends Request ? Omit<One, "id"> : never) : never;

/** The main thread's end of a thread of the store: asks by message, answers by promise. */
export class ThreadPort {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, PromiseWithResolvers<Reply>>();
  #lastId = 0;
  #gone: StoreError | undefined;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on("message", (reply: Reply) => this.#settle(reply));
    worker.on("error", (error) =>
      this.#fail(new StoreError("io", `the store's thread died: ${error.message}`)),
    );
    worker.on("exit", () => this.#fail(new StoreError("closed", "the store is closed")));
  }

  /** Starts a thread and waits until it is ready. */
  static async start(data: ThreadData): Promise<ThreadPort> {
    const worker = new Worker(new URL(moduleBeside(import.meta.url, "./thread")), {
      workerData: data,
      stdin: false,
    });
    const port = new ThreadPort(worker);
    const reply = await port.#expect(0).promise;
    if (reply.kind !== "failed") return port;
    await worker.terminate();
    throw revive(reply.error);
  }

  /** Asks and waits for the reply. */
  ask(question: Question): Promise<Reply> {
    if (this.#gone) return Promise.reject(this.#gone);
    this.#lastId += 1;
    const { promise } = this.#expect(this.#lastId);
    this.#worker.postMessage({ ...question, id: this.#lastId });
    return promise;
  }

  /** Closes the database and ends the thread. */
  async end(): Promise<void> {
    if (this.#gone) return;
    await this.ask({ kind: "close" }).catch(() => undefined);
    await this.#worker.terminate();
  }

  #expect(id: number): PromiseWithResolvers<Reply> {
    const waiting = Promise.withResolvers<Reply>();
    this.#waiting.set(id, waiting);
    return waiting;
  }

  #settle(reply: Reply): void {
    const id = reply.kind === "ready" || reply.kind === "failed" ? 0 : reply.id;
    this.#waiting.get(id)?.resolve(reply);
    this.#waiting.delete(id);
  }

  #fail(error: StoreError): void {
    this.#gone ??= error;
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}

/** An error that crossed threads, as an error again. */
export function revive({ code, message }: Fault): StoreError {
  return new StoreError(code, message);
}

/** The results of an outcome, or its error thrown. */
export function unwrap<Results>(outcome: Outcome<Results>): Results {
  if ("error" in outcome) throw revive(outcome.error);
  return outcome.results;
}
