/** How a client comes back after its connection broke. */
export interface ReconnectOptions {
  /** Wait before the first attempt; it doubles with every further one. */
  readonly firstMs: number;
  /** The longest wait. */
  readonly mostMs: number;
  /** How many attempts in a row before the client gives up and closes. */
  readonly attempts: number;
}

/** From 100 ms doubling to 5 s, for about two minutes. */
export const DEFAULT_RECONNECT: ReconnectOptions = { firstMs: 100, mostMs: 5_000, attempts: 30 };

/** The wait before an attempt, counted from 0. `random` in [0, 1) spreads clients that broke off together. */
export function backoff({ firstMs, mostMs }: ReconnectOptions, attempt: number, random: number): number {
  const full = Math.min(mostMs, firstMs * 2 ** Math.min(attempt, 30));
  return Math.round(full * (0.5 + random / 2));
}
