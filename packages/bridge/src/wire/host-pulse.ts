import { type Clock, raceAbort, systemClock } from "@reins/kit";
import { BRIDGE_DEADLINES_MS, BridgeCallError, type BridgeMethod } from "./bridge-port.ts";

/**
 * Runs a request to a host until its method's deadline. The signal that it gets aborts then, or with the caller's; rejects
 * with that signal's reason.
 */
export async function withinDeadline<Result>(
  method: BridgeMethod,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<Result>,
  clock: Pick<Clock, "after"> = systemClock,
): Promise<Result> {
  signal.throwIfAborted();
  const deadline = new AbortController();
  const milliseconds = BRIDGE_DEADLINES_MS[method];
  const late = `the host did not answer ${method} within ${milliseconds / 1_000} s`;
  const cancelTimer = clock.after(milliseconds, () => deadline.abort(new BridgeCallError("timeout", late)));
  const waiting = AbortSignal.any([signal, deadline.signal]);
  try {
    return await raceAbort(run(waiting), waiting);
  } catch (error) {
    throw waiting.aborted ? waiting.reason : error;
  } finally {
    cancelTimer();
  }
}

/** How long a host that answers nothing is not asked again. */
const SILENT_MS = 60_000;
const SILENT = "the host answers nothing; it is asked again in a minute";

/** A request to a host that is cancelled by a signal. */
type Ask<Result> = (signal: AbortSignal) => Promise<Result>;

/**
 * Notices a host that answers nothing. Some clients announce a bridge and know none of its methods: without this, each turn
 * would wait for the deadline of each. A host that has not answered yet is asked for its capabilities beside the first
 * request; any answer, an error too, shows that it is there.
 */
export class HostPulse {
  readonly #clock: Pick<Clock, "now" | "after">;
  #hasAnswered = false;
  #silentUntil = 0;
  #probing: Promise<boolean> | undefined;

  constructor(clock: Pick<Clock, "now" | "after"> = systemClock) {
    this.#clock = clock;
  }

  /**
   * Runs a request until its method's deadline, or until the host is known to answer nothing.
   * @param probe asks for `host/capabilities`; absent where the host does not offer that
   */
  async request<Result>(
    method: BridgeMethod,
    signal: AbortSignal,
    ask: Ask<Result>,
    probe?: Ask<unknown>,
  ): Promise<Result> {
    if (this.#silentUntil > this.#now()) throw new BridgeCallError("timeout", SILENT);
    const silence = new AbortController();
    if (probe && !this.#hasAnswered)
      void this.#probe(probe).then((isSilent) => {
        if (isSilent) silence.abort(new BridgeCallError("timeout", SILENT));
      });
    try {
      const waiting = AbortSignal.any([signal, silence.signal]);
      const result = await withinDeadline(method, waiting, ask, this.#clock);
      this.answered();
      return result;
    } catch (error) {
      if (!signal.aborted) this.#note(error);
      throw error;
    }
  }

  /** Notes that the host has sent something. */
  answered(): void {
    this.#hasAnswered = true;
    this.#silentUntil = 0;
  }

  /** Whether the host answers nothing, not even with an error. Asked once, however many wait for it. */
  #probe(probe: Ask<unknown>): Promise<boolean> {
    const { signal } = new AbortController();
    this.#probing ??= withinDeadline("host/capabilities", signal, probe, this.#clock)
      .then(
        () => this.answered(),
        (error: unknown) => this.#note(error),
      )
      .then(() => {
        this.#probing = undefined;
        return !this.#hasAnswered;
      });
    return this.#probing;
  }

  #note(error: unknown): void {
    const isLate = error instanceof BridgeCallError && error.code === "timeout";
    if (!isLate) {
      this.answered();
      return;
    }
    this.#hasAnswered = false;
    this.#silentUntil = this.#now() + SILENT_MS;
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}
