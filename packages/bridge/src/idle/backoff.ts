/** How long an agent waits between two looks, in milliseconds; the last one stays. */
export const IDLE_BACKOFF_MS: readonly number[] = [100, 500, 1_000, 2_000];

/** One look of an idle agent: the payload of `agent/idle`. */
export interface IdleTick {
  /** Counts from 1 since the agent was last busy. */
  readonly iteration: number;
  readonly backoff_ms: number;
}

/** The tick that follows, or the first one when the agent was busy. */
export function nextTick(last: IdleTick | undefined): IdleTick {
  const iteration = (last?.iteration ?? 0) + 1;
  const step = Math.min(iteration, IDLE_BACKOFF_MS.length) - 1;
  return { iteration, backoff_ms: IDLE_BACKOFF_MS[step] ?? 0 };
}
