import type { Draft, LedgerReader } from "@reins/ledger";
import { loadPolicy, type Policy, PolicyError } from "@reins/policy";
import { z } from "zod";

/** The change that a policy's entry records. */
const PolicyChange = z.object({ rules_text: z.string(), prose_text: z.string() });

/**
 * The entry of a policy that comes into force. It holds the whole text, so that a third party can decide again what was
 * decided under it, and so that after a restart a changed file is compared with what was in force.
 */
export function policyDraft(
  before: { readonly tenant: string; readonly policy: Policy | undefined },
  policy: Policy,
  actor: string,
): Draft {
  const { tenant } = before;
  return {
    quality: "policy_change",
    actor,
    target: tenant,
    tags: ["constitution", tagOf(tenant)],
    payload: {
      change: "constitution",
      tenant,
      ...policy.hashes,
      before: before.policy ? { ...before.policy.hashes } : null,
      rules: policy.rules.length,
      rules_text: policy.text.rules,
      prose_text: Buffer.from(policy.text.prose).toString("base64"),
    },
  };
}

/**
 * The policy that was in force for a tenant when the ledger was last written to; `undefined` when there was none. That is
 * mostly the one that is loaded already, and loading takes its time.
 */
export async function lastInForce(
  ledger: Pick<LedgerReader, "read">,
  tenant: string,
  loaded?: Policy,
): Promise<Policy | undefined> {
  const [newest] = await ledger.read({ tag: tagOf(tenant), order: "newest", limit: 1 });
  const { data } = PolicyChange.safeParse(newest?.entry.payload);
  if (!data) return undefined;
  try {
    const prose = Buffer.from(data.prose_text, "base64");
    if (loaded?.text.rules === data.rules_text && prose.equals(loaded.text.prose)) return loaded;
    return loadPolicy({ file: "the constitution in the ledger", rules: data.rules_text, prose });
  } catch (error) {
    // Written by a version that took what this one does not: the file then counts as the first.
    if (error instanceof PolicyError) return undefined;
    throw error;
  }
}

function tagOf(tenant: string): string {
  return `constitution:${tenant}`;
}
