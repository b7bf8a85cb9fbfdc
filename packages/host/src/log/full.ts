import { hasCode } from "@reins/kit";
import { StoreError } from "@reins/store";

const CODES = ["ENOSPC", "EDQUOT"] as const;

/** Whether something failed only because there is no room on the disk, so that it can be tried again. */
export function isFull(error: unknown): boolean {
  if (error instanceof StoreError) return error.code === "full";
  return CODES.some((code) => hasCode(error, code));
}
