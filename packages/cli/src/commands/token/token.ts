import type { identityOperations } from "@reins/api";
import type { z } from "zod";
import { shortSpan } from "../../time.ts";

/** A token as others see it. */
export type Token = z.output<typeof identityOperations.listTokens.answer>["tokens"][number];

/** Whether a token lets anybody in at an instant. */
export function isValid({ revoked, expires }: Token, now: Date): boolean {
  return revoked === undefined && (expires === undefined || Date.parse(expires) > now.getTime());
}

/** When a token ends, or that it has. */
export function endOf({ revoked, expires }: Token, now: Date): string {
  if (revoked !== undefined) return "revoked";
  if (expires === undefined) return "never";
  const left = Date.parse(expires) - now.getTime();
  return left > 0 ? `in ${shortSpan(left)}` : "expired";
}
