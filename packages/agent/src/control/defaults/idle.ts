import type { IdleDecision, IdlePayload } from "../events.ts";

/** When background work may run. */
export interface IdleRules {
  /** How long nobody must have wanted anything. */
  readonly leastIdleMs: number;
  /** How busy the machine may be: its load for each processor. */
  readonly mostLoad: number;
  /** Hours in which nothing runs, such as 22 to 7, in local time. */
  readonly quietHours?: { readonly from: number; readonly to: number };
}

/** After half a minute, on a machine that has time. */
export const IDLE_RULES: IdleRules = { leastIdleMs: 30_000, mostLoad: 0.8 };

/** How things are at the moment. */
export interface Moment {
  readonly now: Date;
  /** The load of the machine for each processor. */
  readonly load: number;
}

/** Decides whether background work may run now. */
export function decideIdle(
  { idle_duration_ms }: IdlePayload,
  { now, load }: Moment,
  { leastIdleMs, mostLoad, quietHours }: IdleRules = IDLE_RULES,
): IdleDecision {
  if (idle_duration_ms < leastIdleMs) return { decision: "defer", reason: "somebody may come back" };
  if (quietHours && isWithin(now.getHours(), quietHours))
    return { decision: "defer", reason: "these are quiet hours" };
  if (load > mostLoad) return { decision: "defer", reason: "the machine is busy" };
  return { decision: "allow" };
}

/** Whether an hour is from the first on and before the last, also over midnight. */
function isWithin(hour: number, { from, to }: { readonly from: number; readonly to: number }): boolean {
  return from <= to ? hour >= from && hour < to : hour >= from || hour < to;
}
