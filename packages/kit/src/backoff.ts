/** Bounds of an exponential backoff, in milliseconds. */
export interface BackoffLimits {
  readonly firstMs: number;
  readonly mostMs: number;
}

/**
 * The delay before the next try after a number of failures (from 1): doubles up to the limit. With a random number from
 * 0 to 1, the delay is spread over its upper half, so that many clients do not return at once.
 */
export function exponentialBackoff({ firstMs, mostMs }: BackoffLimits, failures: number, random = 1): number {
  const full = Math.min(mostMs, firstMs * 2 ** Math.min(Math.max(0, failures - 1), 30));
  return Math.round(full * (0.5 + random / 2));
}
