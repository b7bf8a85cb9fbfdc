const PATIENCE_MS = 60_000;

/** A promise that must settle sooner or later; no torture waits for ever. */
export async function within<Value>(
  what: string,
  promise: Promise<Value>,
  milliseconds = PATIENCE_MS,
): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`${what}: nothing for ${milliseconds} ms`)),
    milliseconds,
  );
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Rejects when a signal aborts. */
export function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  promise.catch(() => {});
  return promise;
}

/** Waits a while. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
