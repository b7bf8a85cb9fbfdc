import type { Clock, ParsedJson } from "@reins/kit";
import { AhpError } from "../errors.ts";

/** Timeout and cancellation of a call. */
export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Sends a request and returns its response, parsed but not yet checked. */
export type SendRequest = (id: string, text: string, options: CallOptions) => Promise<ParsedJson>;

/**
 * Carries a client's messages. Every failure is an {@link AhpError}, except an abort, which rejects
 * with the signal's reason.
 */
export interface ClientTransport {
  /** Sends a request and waits for its response; many can run concurrently. */
  readonly request: SendRequest;
  /** Sends a notification; settles when it is sent, over HTTP when it was accepted. */
  notify(text: string, options: CallOptions): Promise<void>;
  /** Sets the first exchange on every new connection. */
  onReconnect(greet: (request: SendRequest) => Promise<void>): void;
  /** Shows the session that later requests belong to, where the transport has a place for it. */
  useSession(token: string): void;
  /** Closes the connection; pending requests fail. Idempotent. */
  close(): Promise<void>;
}

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
    const cancel = this.#clock.after(timeoutMs, () => reject(AhpError.timeout(timeoutMs)));
    const abort = () => reject(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    return promise.finally(() => {
      this.#waiting.delete(id);
      cancel();
      signal?.removeEventListener("abort", abort);
    });
  }

  /** Resolves the pending call with that id; returns whether there was one. */
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

/** How a client reconnects. */
export interface ReconnectOptions {
  /** Wait before the first attempt; it doubles with every further one. */
  readonly firstMs: number;
  /** The longest wait. */
  readonly mostMs: number;
  /** How many attempts in a row before the client gives up and closes. */
  readonly attempts: number;
}

/** From 100 ms doubling to 5 s, for about two minutes. */
export const DEFAULT_RECONNECT: ReconnectOptions = { firstMs: 100, mostMs: 5_000, attempts: 30 };
