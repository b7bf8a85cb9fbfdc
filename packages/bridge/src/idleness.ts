import { z } from "zod";
import { BridgeError } from "./bridge-error.ts";

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

/** How long an agent waits between two looks, in milliseconds; the last one stays. */
const IDLE_BACKOFF_MS: readonly number[] = [100, 500, 1_000, 2_000];

/** One look of an idle agent: the payload of `agent/idle`. */
export interface IdleTick {
  /** Counts from 1 since the agent was last busy. */
  readonly iteration: number;
  readonly backoff_ms: number;
}

/** The tick that follows, or the first one when the agent was busy. */
export function nextTick(last: IdleTick | undefined): IdleTick {
  const iteration = (last?.iteration ?? 0) + 1;
  const step = Math.min(iteration, IDLE_BACKOFF_MS.length) - 1;
  return { iteration, backoff_ms: IDLE_BACKOFF_MS[step] ?? 0 };
}

/** When a message that came in while the agent was at work is to be read. */
type Delivery = "interrupt_immediate" | "finish_step" | "wait_for_completion";

/** What ends an agent's idleness. */
export type Wake =
  /** Nothing was said; it is only to look around. */
  | { readonly kind: "resume" }
  | { readonly kind: "message"; readonly content: string; readonly delivery: Delivery };

const MESSAGES: ReadonlySet<string> = new Set(["user_message", "session/input", "agent/user_message"]);

const DELIVERIES: Readonly<Record<string, Delivery | undefined>> = {
  interrupt: "interrupt_immediate",
  interrupt_immediate: "interrupt_immediate",
  finish_step: "finish_step",
  after_current_operation: "finish_step",
  wait_for_completion: "wait_for_completion",
};

const Message = z.looseObject({ content: z.string(), mode: z.string().optional().catch(undefined) });

/** What a notification of a host wakes an idle agent with; `undefined` when it does not, as one that says nothing. */
export function wakeOf(method: string, params: unknown): Wake | undefined {
  if (method === "agent/resume") return { kind: "resume" };
  if (!MESSAGES.has(method)) return undefined;
  const { data } = Message.safeParse(params);
  if (!data || data.content === "") return undefined;
  return {
    kind: "message",
    content: data.content,
    delivery: DELIVERIES[data.mode ?? ""] ?? "wait_for_completion",
  };
}
