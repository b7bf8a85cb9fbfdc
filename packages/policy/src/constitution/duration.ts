import { z } from "zod";

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const LONGEST = 10_000 * UNITS.d;

/** A length of time such as `30s`, `10m`, `24h`, `7d`. */
export const Duration = z
  .string()
  .regex(/^\d+(ms|s|m|h|d)$/, "a length of time is a number and ms, s, m, h or d")
  .refine((text) => milliseconds(text) > 0, "a length of time is more than nothing")
  .refine((text) => !(milliseconds(text) > LONGEST), "a length of time is at most 10,000 days");

/** A length of time in milliseconds. */
export function milliseconds(duration: string): number {
  const [, count, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(duration) ?? [];
  const factor = Object.entries(UNITS).find(([name]) => name === unit)?.[1] ?? Number.NaN;
  return Number(count) * factor;
}
