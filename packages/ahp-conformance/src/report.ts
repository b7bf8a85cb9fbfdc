import type { HandshakeResponse } from "@reins/ahp";
import type { TargetTransport } from "./target.ts";

/**
 * How binding a check is. `must`: the protocol says it and the upstream implementation does it. `should`: good
 * behaviour that costs no peer anything. `improved`: where JSON-RPC asks for more than upstream gives.
 */
export type Level = "must" | "should" | "improved";

/** Every level, the most binding first. */
export const LEVELS = ["must", "should", "improved"] as const satisfies readonly Level[];

/** What became of a check. */
export type CheckOutcome = "holds" | "fails" | "skipped";

/** One thing that went over the wire. Long texts are cut. */
export interface ExchangeRecord {
  readonly direction: "sent" | "received";
  readonly text: string;
  /** Only for what came over HTTP. */
  readonly status?: number;
}

/** One check and what became of it. */
export interface CheckReport {
  /** Stable; does not change when the title does. */
  readonly id: string;
  readonly title: string;
  readonly level: Level;
  readonly outcome: CheckOutcome;
  /** Why it fails or was skipped. */
  readonly why?: string;
  /** What was sent and received; for a failure, the exchange that shows it. */
  readonly exchange: readonly ExchangeRecord[];
}

/** The checks about one part of the protocol. */
export interface SectionReport {
  readonly section: string;
  /** Where the protocol speaks about it. */
  readonly reference: string;
  readonly checks: readonly CheckReport[];
}

/** How many checks of a level came out how. */
export type Tally = Readonly<Record<CheckOutcome, number>>;

/** Everything a run found out. It is plain data: `JSON.stringify` is its machine-readable form. */
export interface ConformanceReport {
  /** The command, address or path. */
  readonly target: string;
  readonly transport: TargetTransport;
  /** What the harness said of itself; absent when it answered no handshake. */
  readonly harness?: HandshakeResponse;
  readonly sections: readonly SectionReport[];
  readonly totals: Readonly<Record<Level, Tally>>;
  /** Whether every `must` that could be checked holds, and at least one could. */
  readonly conforms: boolean;
}

/** Counts the checks of all sections by level and outcome. */
export function countUp(sections: readonly SectionReport[]): ConformanceReport["totals"] {
  const checks = sections.flatMap((section) => section.checks);
  const count = (level: Level, outcome: CheckOutcome) =>
    checks.filter((check) => check.level === level && check.outcome === outcome).length;
  const tally = (level: Level): Tally => ({
    holds: count(level, "holds"),
    fails: count(level, "fails"),
    skipped: count(level, "skipped"),
  });
  return { must: tally("must"), should: tally("should"), improved: tally("improved") };
}
