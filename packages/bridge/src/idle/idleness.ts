import { BridgeError } from "../bridge-error.ts";
import { type IdleTick, nextTick } from "./backoff.ts";
import type { Wake } from "./wake.ts";

/** How an idle agent waits and is heard. */
export interface IdlenessOptions {
  /** Told on entering the wait and at every tick of it: the notification `agent/idle`. */
  readonly onIdle: (tick: IdleTick) => void;
  /** Waits; rejects when the signal aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** How many wakes may wait for an agent that is at work. */
  readonly limit?: number;
}

const LIMIT = 1_024;

/**
 * The time between two turns of an agent that stays alive. Ticks slow down the longer nothing happens; whatever wakes
 * it does so at once and not at the next tick.
 */
export class Idleness {
  readonly #options: IdlenessOptions;
  readonly #waiting: Wake[] = [];
  #tick: IdleTick | undefined;
  #ring: (() => void) | undefined;

  constructor(options: IdlenessOptions) {
    this.#options = options;
  }

  /** Wakes the agent, now or as soon as it is idle. Resuming twice is resuming once. */
  wake(wake: Wake): void {
    if (wake.kind === "resume" && this.#waiting.some(({ kind }) => kind === "resume")) return;
    if (this.#waiting.length >= (this.#options.limit ?? LIMIT))
      throw new BridgeError("queue_full", "too many messages wait for the agent; send the next one later");
    this.#waiting.push(wake);
    this.#ring?.();
  }

  /** Begins the wait anew, because something else has happened: ticks come fast again. */
  stir(): void {
    this.#tick = undefined;
    this.#ring?.();
  }

  /** Waits for the next wake, oldest first, and messages before a mere resume. */
  async next(signal: AbortSignal): Promise<Wake> {
    this.#tick = undefined;
    for (;;) {
      signal.throwIfAborted();
      const wake = this.#take();
      if (wake) return wake;
      this.#tick = nextTick(this.#tick);
      this.#options.onIdle(this.#tick);
      await this.#pause(this.#tick.backoff_ms, signal);
    }
  }

  #take(): Wake | undefined {
    const message = this.#waiting.findIndex(({ kind }) => kind === "message");
    return this.#waiting.splice(Math.max(0, message), 1)[0];
  }

  async #pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    // Whoever hears of the tick may have woken it.
    if (this.#waiting.length > 0) return;
    const woken = new AbortController();
    this.#ring = () => woken.abort();
    try {
      await this.#options.sleep(milliseconds, AbortSignal.any([signal, woken.signal]));
    } catch (error) {
      if (!woken.signal.aborted && !signal.aborted) throw error;
    } finally {
      this.#ring = undefined;
    }
  }
}
