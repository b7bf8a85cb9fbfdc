import type { Clock } from "@reins/kit";
import { AhpError } from "../errors/ahp-error.ts";
import type { ParsedJson } from "../json/parse.ts";
import type { CallOptions } from "./transport.ts";

interface Waiting {
  readonly resolve: (answer: ParsedJson) => void;
  readonly reject: (error: unknown) => void;
}

/** The calls that wait for an answer, by their id. None is forgotten: each ends by answer, time, abort or failure. */
export class PendingCalls {
  readonly #waiting = new Map<string, Waiting>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many calls wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Waits for the answer to a call. */
  wait(id: string, { timeoutMs, signal }: CallOptions): Promise<ParsedJson> {
    const { promise, resolve, reject } = Promise.withResolvers<ParsedJson>();
    this.#waiting.set(id, { resolve, reject });
    const callOff = this.#clock.after(timeoutMs, () => reject(AhpError.timeout(timeoutMs)));
    const abort = () => reject(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    return promise.finally(() => {
      this.#waiting.delete(id);
      callOff();
      signal?.removeEventListener("abort", abort);
    });
  }

  /** Hands an answer to whoever waits for it; says whether anybody did. */
  answer(id: string, answer: ParsedJson): boolean {
    const waiting = this.#waiting.get(id);
    waiting?.resolve(answer);
    return waiting !== undefined;
  }

  /** Ends every call. */
  fail(error: AhpError): void {
    for (const { reject } of this.#waiting.values()) reject(error);
  }
}
