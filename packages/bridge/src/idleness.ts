import { z } from "zod";
import { BridgeError } from "./bridge-error.ts";

export interface IdlenessOptions {
  /** Receives every tick: the notification `agent/idle`. */
  readonly onIdle: (tick: IdleTick) => void;
  /** Rejects when the signal aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** The most wakes that are queued for a busy agent. */
  readonly limit?: number;
}

const LIMIT = 1_024;
/** The most UTF-8 bytes of messages that wait for a session, however few they are. */
export const MOST_MESSAGE_BYTES = 8 * 1024 * 1024;

/** The wait between two turns of a resident agent. It ticks with a growing backoff; a wake ends it at once. */
export class Idleness {
  readonly #options: IdlenessOptions;
  readonly #queue: Wake[] = [];
  #bytes = 0;
  #tick: IdleTick | undefined;
  #interrupt: (() => void) | undefined;

  constructor(options: IdlenessOptions) {
    this.#options = options;
  }

  /**
   * Wakes the agent, now or once it is idle. Wakes of one kind without a message are merged, and dropped where the messages
   * that wait wake it anyway; a message too many throws.
   */
  wake(wake: Wake): void {
    const isMessage = wake.kind === "message";
    if (!isMessage && this.#queue.some(({ kind }) => kind === wake.kind)) return;
    const bytes = bytesOf(wake);
    const isFull = this.#queue.length >= (this.#options.limit ?? LIMIT);
    if (isFull && !isMessage) return;
    if (isFull || this.#bytes + bytes > MOST_MESSAGE_BYTES)
      throw new BridgeError("queue_full", "too many messages wait for the agent; send the next one later");
    this.#bytes += bytes;
    this.#queue.push(wake);
    this.#interrupt?.();
  }

  /** Restarts the backoff after other activity. */
  restartBackoff(): void {
    this.#tick = undefined;
    this.#interrupt?.();
  }

  /** Waits for the next wake: oldest first, messages before a resume. */
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
    const message = this.#queue.findIndex(({ kind }) => kind === "message");
    const [wake] = this.#queue.splice(Math.max(0, message), 1);
    if (wake) this.#bytes -= bytesOf(wake);
    return wake;
  }

  async #pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    // The listener of the tick may have woken it.
    if (this.#queue.length > 0) return;
    const woken = new AbortController();
    this.#interrupt = () => woken.abort();
    try {
      await this.#options.sleep(milliseconds, AbortSignal.any([signal, woken.signal]));
    } catch (error) {
      if (!woken.signal.aborted && !signal.aborted) throw error;
    } finally {
      this.#interrupt = undefined;
    }
  }
}

/** The bytes of a message; anything else that wakes is small. */
function bytesOf(wake: Wake): number {
  return wake.kind === "message" ? Buffer.byteLength(wake.content) : 0;
}

/** The backoff between ticks; the last value repeats. */
const IDLE_BACKOFF_MS: readonly number[] = [100, 500, 1_000, 2_000];

/** The payload of `agent/idle`. */
export interface IdleTick {
  /** Counts from 1 since the agent was last busy. */
  readonly iteration: number;
  readonly backoff_ms: number;
}

/** The tick after the last one, or the first after activity. */
export function nextTick(last: IdleTick | undefined): IdleTick {
  const iteration = (last?.iteration ?? 0) + 1;
  const step = Math.min(iteration, IDLE_BACKOFF_MS.length) - 1;
  return { iteration, backoff_ms: IDLE_BACKOFF_MS[step] ?? 0 };
}

/** When a busy agent reads a message. */
type Delivery = "interrupt_immediate" | "finish_step" | "wait_for_completion";

/** Wakes an idle agent. */
export type Wake =
  /** Resumes the agent without a message: because a host says so, watched files changed, or time is over. */
  | { readonly kind: "resume" }
  | { readonly kind: "watch"; readonly paths: readonly string[] }
  | { readonly kind: "timer" }
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

/** Parses a notification of a host; `undefined` when it wakes no agent, as an empty message. */
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
