import { Worker } from "node:worker_threads";
import { errorMessage } from "@reins/kit";
import { StoreError } from "../store-error.ts";
import type {
  AnsweredReply,
  AppliedReply,
  OtherRequest,
  Reply,
  Request,
  ThreadData,
  Write,
} from "./messages.ts";
import { type Outcome, received, unwrap } from "./outcome.ts";

type WithoutId<One> = One extends { readonly id: number } ? Omit<One, "id"> : never;

/** A caller that waits for a reply. */
interface Waiting {
  settle(reply: Reply): void;
  reject(error: StoreError): void;
}

/** Where the code of a thread is, whether it runs from source or was built. */
const CODE = import.meta.url.endsWith(".ts")
  ? new URL("./thread.ts", import.meta.url)
  : new URL("./thread.js", import.meta.url);

/** The main thread's end of a thread of the store: asks by message, answers by promise. */
export class ThreadPort {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #gone: StoreError | undefined;

  /** Starts a thread, which opens the database when it is first asked something. */
  constructor(data: ThreadData) {
    this.#worker = new Worker(CODE, { workerData: data, stdin: false, name: `store ${data.role}` });
    this.#worker.on("message", (reply: Reply) => this.#settle(reply));
    this.#worker.on("messageerror", (error) =>
      this.#fail(`sent what cannot be read: ${errorMessage(error)}`),
    );
    this.#worker.on("error", (error) => this.#fail(`died: ${errorMessage(error)}`));
    this.#worker.on("exit", (code) => this.#fail(`ended with code ${code}`));
  }

  /** How many questions wait for their reply. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Writes commits; resolves to the outcome of each. Throws at once when they cannot be sent. */
  apply(writes: readonly Write[]): Promise<readonly Outcome[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Outcome[]>();
    const settle = (reply: Reply) => {
      if (isApplied(reply)) resolve(reply[1].map(received));
      else reject(refusalIn(reply));
    };
    this.#send({ kind: "apply", id: this.#nextId(), writes }, { settle, reject });
    return promise;
  }

  /** Sends a request and resolves to its result. */
  async ask(question: WithoutId<OtherRequest>): Promise<unknown> {
    const reply = await this.#replyTo(question);
    return isApplied(reply) ? undefined : unwrap(reply.outcome);
  }

  /** Closes the database, if it is open, and ends the thread. */
  async end(): Promise<void> {
    try {
      if (!this.#gone && this.#lastId > 0) await this.#replyTo({ kind: "close" });
    } finally {
      this.#gone ??= new StoreError("closed", "the store is closed");
      await this.#worker.terminate();
    }
  }

  #replyTo(question: WithoutId<OtherRequest>): Promise<Reply> {
    const { promise, resolve: settle, reject } = Promise.withResolvers<Reply>();
    this.#send({ ...question, id: this.#nextId() }, { settle, reject });
    return promise;
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  #send(request: Request, waiting: Waiting): void {
    if (this.#gone) throw this.#gone;
    try {
      this.#worker.postMessage(request);
    } catch (error) {
      throw new StoreError("invalid", `not plain data: ${errorMessage(error)}`, { cause: error });
    }
    this.#waiting.set(request.id, waiting);
  }

  #settle(reply: Reply): void {
    const id = isApplied(reply) ? reply[0] : reply.id;
    this.#waiting.get(id)?.settle(reply);
    this.#waiting.delete(id);
  }

  #fail(what: string): void {
    this.#gone ??= new StoreError("io", `the store's thread ${what}; open the store anew`);
    for (const waiting of this.#waiting.values()) waiting.reject(this.#gone);
    this.#waiting.clear();
  }
}

function isApplied(reply: Reply): reply is AppliedReply {
  return Array.isArray(reply);
}

/** Why commits were refused before any of them was tried. */
function refusalIn({ outcome }: AnsweredReply): StoreError {
  const { code, message } = "error" in outcome ? outcome.error : NO_OUTCOME;
  return new StoreError(code, message);
}

const NO_OUTCOME = { code: "io", message: "the writer did not say what became of the commits" } as const;
