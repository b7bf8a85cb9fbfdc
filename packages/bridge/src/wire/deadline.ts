import { type Clock, raceAbort, systemClock } from "@reins/kit";
import { BridgeCallError } from "./bridge-port.ts";
import { BRIDGE_DEADLINES_MS, type BridgeMethod } from "./methods.ts";

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
