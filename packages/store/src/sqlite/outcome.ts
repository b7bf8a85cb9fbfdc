import { StoreError, type StoreErrorCode } from "../store-error.ts";
import { translate } from "./translate.ts";

/** An error as it crosses threads. */
interface Fault {
  readonly code: StoreErrorCode;
  readonly message: string;
}

/** What became of one commit or query. */
export type Outcome<Results = unknown[]> = { readonly results: Results } | { readonly error: Fault };

/**
 * The outcome of a commit as it crosses threads: what its changes gave back, or how many there were when none gave
 * anything, as it mostly is.
 */
export type SentOutcome = unknown[] | number | { readonly error: Fault };

/** Makes an outcome ready to be sent. */
export function sent(outcome: Outcome): SentOutcome {
  if ("error" in outcome) return outcome;
  const { results } = outcome;
  return results.every((result) => result === undefined) ? results.length : results;
}

/** The outcome that was sent. */
export function received(outcome: SentOutcome): Outcome {
  if (typeof outcome === "number") return { results: new Array(outcome).fill(undefined) };
  return Array.isArray(outcome) ? { results: outcome } : outcome;
}

/** The outcome of what failed. */
export function failed(error: unknown): { readonly error: Fault } {
  const { code, message } = translate(error);
  return { error: { code, message } };
}

/** The results of an outcome, or its error thrown. */
export function unwrap<Results>(outcome: Outcome<Results>): Results {
  if ("error" in outcome) throw new StoreError(outcome.error.code, outcome.error.message);
  return outcome.results;
}
