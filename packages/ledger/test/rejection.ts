import { LedgerError } from "../src/ledger-error.ts";

/** The ledger's error that a call must end with. */
export async function rejectionOf(call: () => unknown): Promise<LedgerError> {
  try {
    await call();
  } catch (error) {
    if (error instanceof LedgerError) return error;
    throw error;
  }
  throw new Error("the call was to fail");
}
