import { StoreError, type StoreErrorCode } from "../store-error.ts";
import { translate } from "./translate.ts";

/** An error as it crosses threads. */
interface Fault {
  readonly code: StoreErrorCode;
  readonly message: string;
}

/** What became of one commit or query. */
export type Outcome<Results = unknown[]> = { readonly results: Results } | { readonly error: Fault };

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
