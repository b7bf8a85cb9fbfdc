import type { LedgerReader } from "@reins/ledger";
import { checkConstitution, type Policy } from "@reins/policy";
import { wholeNumber } from "../../flags.ts";
import { readMoment } from "../ledger/log/moment.ts";
import { pagesOf, placeBefore } from "../ledger/log/pages.ts";

/** The flags that say which verdicts of the past are meant. */
export interface VerdictFlags {
  readonly since?: string;
  readonly limit?: string;
}

/** Which verdicts of the past. */
export interface VerdictRange {
  readonly since: string | undefined;
  /** At most so many, the newest of them. */
  readonly limit: number | undefined;
}

/** Reads the flags. */
export function settleRange({ since, limit }: VerdictFlags, now: Date): VerdictRange {
  return {
    since: since === undefined ? undefined : readMoment(since, "--since", now),
    limit: limit === undefined ? undefined : wholeNumber(limit, "--limit", 1),
  };
}

/** The verdicts in a ledger, the oldest first, page by page. */
export async function eachVerdict(
  ledger: Pick<LedgerReader, "read" | "size">,
  { since, limit }: VerdictRange,
  take: (entry: string, payload: unknown) => void,
): Promise<void> {
  const filter = { quality: "policy_verdict", since };
  const after = limit === undefined ? -1 : await placeBefore(ledger, filter, limit);
  for await (const page of pagesOf(ledger, { filter, order: "oldest", after, limit }))
    for (const { entry } of page) take(entry.cid, entry.payload);
}

/** The policies of a tenant that the ledger says were in force. Those that cannot be read any more are left out. */
export async function policiesInForce(
  ledger: Pick<LedgerReader, "read">,
  tenant: string,
): Promise<readonly Policy[]> {
  const policies: Policy[] = [];
  const filter = { quality: "policy_change", tag: `constitution:${tenant}` };
  for await (const page of pagesOf(ledger, { filter, order: "oldest" })) {
    for (const { entry } of page) {
      const rules = rulesTextIn(entry.payload);
      if (rules === undefined) continue;
      const { policy } = checkConstitution({ file: entry.cid, rules, prose: new Uint8Array() });
      if (policy) policies.push(policy);
    }
  }
  return policies;
}

function rulesTextIn(payload: unknown): string | undefined {
  if (typeof payload !== "object" || payload === null || !("rules_text" in payload)) return undefined;
  return typeof payload.rules_text === "string" ? payload.rules_text : undefined;
}
