import type { Clock } from "@reins/kit";
import type { ControlPort } from "../control/control-port.ts";

const INTERVAL_MS = 30_000;

/** Reports a heartbeat while any turn runs, with one timer for all of them. */
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

  /** Counts an event. */
  count(): void {
    this.#events += 1;
  }

  /** Counts a turn; the result ends it. */
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

interface Waiting {
  readonly since: number;
  readonly run: (idleMs: number) => Promise<void>;
}

export interface IdleWorkOptions {
  /** The shortest idle time of a session before its work runs. */
  readonly delayMs: number;
  readonly now: () => Date;
  readonly onFault: (fault: unknown) => void;
}

/** Runs work for sessions that have been idle for a while, with one timer for all of them. */
export class IdleWork {
  readonly #options: IdleWorkOptions;
  readonly #waiting = new Map<string, Waiting>();
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;

  constructor(options: IdleWorkOptions) {
    this.#options = options;
  }

  /** Schedules work for an idle session; replaces what was scheduled before. */
  schedule(sessionId: string, run: Waiting["run"]): void {
    this.#waiting.set(sessionId, { since: this.#options.now().getTime(), run });
    this.#arm();
  }

  /** Cancels the work of a session that is active again or closed. */
  cancel(sessionId: string): void {
    this.#waiting.delete(sessionId);
    if (this.#waiting.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Work that is scheduled while other work runs waits for its end. */
  #arm(): void {
    if (this.#isRunning || this.#waiting.size === 0) return;
    this.#timer ??= setTimeout(() => void this.#runDue(), this.#options.delayMs).unref();
  }

  /** Runs work one by one, to leave room for turns. */
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
