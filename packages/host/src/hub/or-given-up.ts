/** What a promise gives, unless whoever waits for it gives up before. */
export async function orGivenUp<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(signal.reason);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([promise, givenUp]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
