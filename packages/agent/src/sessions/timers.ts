import type { ControlPort } from "../control/control-port.ts";
import type { Clock } from "../ports/clock.ts";

/** How often a working agent tells that it is alive. */
const INTERVAL_MS = 30_000;

/** Tells that the agent is alive for as long as any of its turns runs; one timer for all of them, and none when idle. */
export class Heartbeat {
  readonly #control: Pick<ControlPort, "report">;
  readonly #clock: Pick<Clock, "now">;
  readonly #intervalMs: number;
  readonly #began: number;
  #running = 0;
  #events = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(control: Pick<ControlPort, "report">, clock: Pick<Clock, "now">, intervalMs = INTERVAL_MS) {
    this.#control = control;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#began = clock.now().getTime();
  }

  /** Notes that something happened. */
  count(): void {
    this.#events += 1;
  }

  /** A turn begins; what it gives back ends it. */
  begin(): () => void {
    this.#running += 1;
    this.#timer ??= setInterval(() => this.#beat(), this.#intervalMs).unref();
    return () => {
      this.#running -= 1;
      if (this.#running > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #beat(): void {
    this.#control.report("heartbeat", {
      uptime_ms: this.#clock.now().getTime() - this.#began,
      total_events_processed: this.#events,
      current_state: "running",
      memory_bytes: process.memoryUsage.rss(),
      pending_actions: this.#running,
    });
  }
}

/** What waits for a quiet moment. */
interface Waiting {
  readonly since: number;
  readonly run: (idleMs: number) => Promise<void>;
}

/** What background work stands on. */
export interface IdleWorkOptions {
  /** How long nobody must have wanted anything. */
  readonly delayMs: number;
  readonly now: () => Date;
  readonly onFault: (fault: unknown) => void;
}

/** Work that can wait until nobody wants anything: one timer for all sessions, and none when nothing waits. */
export class IdleWork {
  readonly #options: IdleWorkOptions;
  readonly #waiting = new Map<string, Waiting>();
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;

  constructor(options: IdleWorkOptions) {
    this.#options = options;
  }

  /** Has something done for a session when it has been idle for a while. */
  schedule(sessionId: string, run: Waiting["run"]): void {
    this.#waiting.set(sessionId, { since: this.#options.now().getTime(), run });
    this.#arm();
  }

  /** The session is busy again, or gone. */
  cancel(sessionId: string): void {
    this.#waiting.delete(sessionId);
    if (this.#waiting.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** What comes up while others have something done is looked at when that is done. */
  #arm(): void {
    if (this.#isRunning || this.#waiting.size === 0) return;
    this.#timer ??= setTimeout(() => void this.#runDue(), this.#options.delayMs).unref();
  }

  /** One after the other: what runs in the background leaves room for what does not. */
  async #runDue(): Promise<void> {
    this.#isRunning = true;
    const now = this.#options.now().getTime();
    for (const [sessionId, { since, run }] of [...this.#waiting]) {
      if (now - since < this.#options.delayMs || !this.#waiting.delete(sessionId)) continue;
      await run(now - since).catch(this.#options.onFault);
    }
    this.#isRunning = false;
    this.#timer = undefined;
    this.#arm();
  }
}
