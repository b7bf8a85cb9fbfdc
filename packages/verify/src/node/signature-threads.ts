import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { type SignatureChecker, type SignatureClaim, webCrypto } from "../signature.ts";

/** Where the code of a thread is, whether it runs from source or was built. */
const CODE = import.meta.url.endsWith(".ts")
  ? new URL("./signature-thread.ts", import.meta.url)
  : new URL("./signature-thread.js", import.meta.url);

/** As many signatures are checked without threads: starting one takes longer. */
const WITHOUT_THREADS = 1_000;
const BATCH = 32;

interface Waiting {
  readonly claim: SignatureClaim;
  readonly answer: PromiseWithResolvers<boolean>;
}

/**
 * Checks signatures on threads of its own. WebCrypto of Node does so on the four threads of libuv, and on a machine
 * with few cores those take turns with the main thread, which then falls behind.
 */
export class SignatureThreads implements SignatureChecker {
  readonly #threads: Thread[] = [];
  #checked = 0;
  #batch: Waiting[] = [];

  check(claim: SignatureClaim): Promise<boolean> {
    this.#checked += 1;
    if (this.#checked <= WITHOUT_THREADS) return webCrypto.check(claim);
    const answer = Promise.withResolvers<boolean>();
    if (this.#batch.length === 0) setImmediate(() => this.#send());
    this.#batch.push({ claim, answer });
    if (this.#batch.length >= BATCH) this.#send();
    return answer.promise;
  }

  /** Ends the threads; what waits for one is not checked any more. */
  async close(): Promise<void> {
    for (const { answer } of this.#batch.splice(0)) answer.reject(ended());
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  #send(): void {
    if (this.#batch.length === 0) return;
    this.#idlest().send(this.#batch);
    this.#batch = [];
  }

  #idlest(): Thread {
    const [idlest] = this.#threads.toSorted((left, right) => left.waiting - right.waiting);
    if (idlest !== undefined && (idlest.waiting === 0 || this.#threads.length >= threadLimit()))
      return idlest;
    const thread = new Thread();
    this.#threads.push(thread);
    return thread;
  }
}

function ended(): Error {
  return new Error("the thread that checks signatures ended");
}

/** One core is the main thread's. */
function threadLimit(): number {
  return Math.max(1, Math.min(4, availableParallelism() - 1));
}

/** A thread and the batches that it has not answered yet. */
class Thread {
  readonly #worker = new Worker(CODE, { stdin: false, name: "reins verify" });
  readonly #batches: Waiting[][] = [];

  constructor() {
    this.#worker.on("message", (answers: readonly boolean[]) => this.#settle(answers));
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", () => this.#fail(ended()));
  }

  get waiting(): number {
    return this.#batches.length;
  }

  send(batch: Waiting[]): void {
    this.#batches.push(batch);
    this.#worker.postMessage(batch.map(({ claim }) => claim));
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #settle(answers: readonly boolean[]): void {
    const batch = this.#batches.shift() ?? [];
    for (const [index, { answer }] of batch.entries()) answer.resolve(answers[index] ?? false);
  }

  #fail(error: unknown): void {
    for (const { answer } of this.#batches.splice(0).flat()) answer.reject(error);
  }
}
