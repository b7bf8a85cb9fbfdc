import type { Random } from "../../../../scripts/torture/random.ts";

/** When one run kills the process. */
export interface Plan {
  /** The boundary of a write, counted from the journey's begin; 0 for none. */
  readonly boundary: number;
  /** Boundaries counted from each start after a kill: the recovery is killed too. */
  readonly again: readonly number[];
  /** Calls, counted from 1, around which the process is killed from outside. */
  readonly calls: ReadonlyMap<number, Around>;
}

/** Before a call is sent, that many milliseconds into it, or once it was answered. */
export type Around = "before" | "after" | { readonly during: number };

export const CALM: Plan = { boundary: 0, again: [], calls: new Map() };

/** Kills at one boundary, and now and then the recovery as well. */
export function atBoundary(boundary: number, random: Random): Plan {
  const again = random.chance(0.25) ? [1 + random.int(120)] : [];
  return { boundary, again, calls: new Map() };
}

/** Kills wherever it falls: around calls, at boundaries, several times. */
export function anywhere(random: Random): Plan {
  const calls = new Map<number, Around>();
  for (let kills = 1 + random.int(3); kills > 0; kills -= 1)
    calls.set(1 + random.int(8), random.pick<Around>(["before", "after", { during: random.int(12) }]));
  const again = Array.from({ length: random.int(3) }, () => 1 + random.int(200));
  return { boundary: random.chance(0.3) ? 1 + random.int(250) : 0, again, calls };
}
