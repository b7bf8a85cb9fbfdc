import { RpcError } from "@reins/acp";
import type { Decided } from "@reins/supervisor";

/** The JSON-RPC code of a request that was not allowed. */
export const REFUSED = -32010;

/** What the wire carries of a verdict, under `_meta.reins`. */
export function verdictMeta({ verdict, reason, rule, enforcement, entry, approval }: Decided): {
  reins: Record<string, unknown>;
} {
  return {
    reins: {
      verdict,
      reason,
      enforcement,
      ...(rule !== undefined && { rule }),
      ...(entry !== undefined && { entry }),
      ...(approval !== undefined && { approval }),
    },
  };
}

/** A verdict with its entry in the ledger, awaited where the verdict came before it was written. */
export async function placed(decided: Decided): Promise<Decided> {
  const { entry = await decided.written } = decided;
  return { ...decided, entry };
}

/** The error of a request that was not allowed. */
export async function refusal(what: string, decided: Decided): Promise<RpcError> {
  const data = verdictMeta(await placed(decided));
  return new RpcError(REFUSED, `${what} was not allowed: ${decided.reason}`, data);
}
