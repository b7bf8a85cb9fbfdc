import type { Clock } from "@reins/kit";

/** Waits for a promise, but not longer than that; says whether it settled. Does not mind how. */
export async function settledWithin(
  promise: Promise<unknown>,
  milliseconds: number,
  clock: Clock,
): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const callOff = clock.after(milliseconds, () => late.resolve(false));
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late.promise]);
  } finally {
    callOff();
  }
}

/** Waits that long, or until the signal aborts. */
export async function pause(milliseconds: number, clock: Clock, signal: AbortSignal): Promise<void> {
  if (milliseconds <= 0 || signal.aborted) return;
  const over = Promise.withResolvers<void>();
  const callOff = clock.after(milliseconds, over.resolve);
  const stop = () => over.resolve();
  signal.addEventListener("abort", stop, { once: true });
  await over.promise;
  signal.removeEventListener("abort", stop);
  callOff();
}
