import type { ControlPort } from "../control/control-port.ts";
import type { Clock } from "../ports/clock.ts";

/** How often a working agent tells that it is alive. */
const INTERVAL_MS = 30_000;

/** Tells that the agent is alive for as long as any of its turns runs; one timer for all of them, and none when idle. */
export class Heartbeat {
  readonly #control: Pick<ControlPort, "tell">;
  readonly #clock: Pick<Clock, "now">;
  readonly #intervalMs: number;
  readonly #began: number;
  #running = 0;
  #events = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(control: Pick<ControlPort, "tell">, clock: Pick<Clock, "now">, intervalMs = INTERVAL_MS) {
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
    this.#control.tell("heartbeat", {
      uptime_ms: this.#clock.now().getTime() - this.#began,
      total_events_processed: this.#events,
      current_state: "running",
      memory_bytes: process.memoryUsage.rss(),
      pending_actions: this.#running,
    });
  }
}
