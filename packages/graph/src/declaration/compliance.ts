import type { Carried } from "./carrier.ts";

/** How well an agent keeps to the protocol: counts of its messages. */
export interface Compliance {
  /** Messages that declared something, or tried to. */
  readonly messages: number;
  /** Declarations by a carrier of the protocol, with nothing beside them. */
  readonly compliant: number;
  /** Direct requests that were taken for a declaration. */
  readonly recovered: number;
  /** What was said beside the protocol, recovered requests included. */
  readonly violations: number;
  /** Messages that were refused with a protocol error. */
  readonly errors: number;
}

export const NO_COMPLIANCE: Compliance = {
  messages: 0,
  compliant: 0,
  recovered: 0,
  violations: 0,
  errors: 0,
};

/** Counts one message: what was read from it, or that it was refused. Text declares nothing and counts for nothing. */
export function countMessage(counts: Compliance, message: Carried | "refused"): Compliance {
  if (message !== "refused" && message.kind === "text") return counts;
  const messages = counts.messages + 1;
  if (message === "refused") return { ...counts, messages, errors: counts.errors + 1 };
  const isRecovered = message.kind === "calls" && message.carrier === "recovered";
  return {
    messages,
    compliant: counts.compliant + (message.violations.length === 0 ? 1 : 0),
    recovered: counts.recovered + (isRecovered ? 1 : 0),
    violations: counts.violations + message.violations.length,
    errors: counts.errors,
  };
}

/** The shares of messages that kept to the protocol, and that were recovered. */
export function complianceRates({ messages, compliant, recovered }: Compliance): {
  readonly compliance: number;
  readonly recovery: number;
} {
  if (messages === 0) return { compliance: 1, recovery: 0 };
  return { compliance: compliant / messages, recovery: recovered / messages };
}
