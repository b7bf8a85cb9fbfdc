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

const MOST_RETRY_AFTER_MS = 600_000;

/** How long `Retry-After` asks to wait: seconds or a date, ten minutes at most; undefined if it is neither. */
export function retryAfterMs(value: string | undefined, now: Date): number | undefined {
  const text = value?.trim() ?? "";
  const wanted = /^\d+$/.test(text) ? Number(text) * 1_000 : dateIn(text) - now.getTime();
  return Number.isNaN(wanted) ? undefined : Math.min(Math.max(0, wanted), MOST_RETRY_AFTER_MS);
}

/** Reads the date of RFC 9110 only: `Date.parse` accepts far more. */
function dateIn(text: string): number {
  const isDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text);
  return isDate ? Date.parse(text) : Number.NaN;
}
