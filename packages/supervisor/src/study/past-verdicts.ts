import { type EntryRange, type LedgerReader, type PlacedEntry, restoredJson } from "@reins/ledger";
import { type Policy, readPolicy } from "@reins/policy";
import { tenantPrefix } from "../record/drafts.ts";

/** Which verdicts of the past. */
export interface VerdictRange {
  /** Not before, RFC 3339. */
  readonly since?: string | undefined;
  /** At most so many, the newest of them; all when absent. */
  readonly limit?: number | undefined;
  /** Only this tenant's count, so that a busy neighbour does not use the limit; all tenants' without one. */
  readonly tenant?: string | undefined;
  /** Only what stands before this place. */
  readonly before?: number | undefined;
}

/** Small enough that concurrent verdicts are not delayed. */
const PAGE = 100;

/** The verdicts in a ledger, the oldest first, page by page, so that many take no more memory than few. */
export async function* pastVerdicts(
  ledger: Pick<LedgerReader, "read" | "readStored">,
  { since, limit, tenant, before }: VerdictRange,
): AsyncGenerator<PlacedEntry> {
  const filter = {
    quality: "policy_verdict",
    since,
    entity_prefix: tenant === undefined ? undefined : tenantPrefix(tenant),
  };
  let after = limit === undefined ? -1 : (await firstPlace(ledger, filter, limit, before)) - 1;
  for (let left = limit ?? Number.POSITIVE_INFINITY; left > 0; ) {
    const page = await ledger.read({ ...filter, after, limit: Math.min(PAGE, left) });
    const wanted = before === undefined ? page : page.filter(({ seq }) => seq < before);
    // Rules are to see the numbers that they decided about.
    for (const placed of wanted)
      yield { ...placed, entry: { ...placed.entry, payload: restoredJson(placed.entry.payload) } };
    after = page.at(-1)?.seq ?? after;
    left -= page.length;
    if (page.length < PAGE || wanted.length < page.length) return;
  }
}

/** The place of the first of the newest so many. */
async function firstPlace(
  ledger: Pick<LedgerReader, "readStored">,
  filter: Pick<EntryRange, "quality" | "since" | "entity_prefix">,
  limit: number,
  before: number | undefined,
): Promise<number> {
  let place = before;
  for (let left = limit; left > 0; ) {
    const size = Math.min(PAGE, left);
    const page = await ledger.readStored({ ...filter, order: "newest", after: place, limit: size });
    place = page.at(-1)?.seq ?? place;
    left -= page.length;
    if (page.length < size) break;
  }
  return place ?? 0;
}

/** The policies of a tenant that the ledger says were in force. Those that cannot be read any more are left out. */
export async function policiesInForce(
  ledger: Pick<LedgerReader, "read">,
  tenant: string,
): Promise<readonly Policy[]> {
  const policies: Policy[] = [];
  for (let after = -1; ; ) {
    const page = await ledger.read({
      quality: "policy_change",
      tag: `constitution:${tenant}`,
      after,
      limit: PAGE,
    });
    for (const { seq, entry } of page) {
      after = seq;
      const rules = rulesTextIn(entry.payload);
      if (rules === undefined) continue;
      const { policy } = readPolicy({ file: entry.cid, rules, prose: new Uint8Array() });
      if (policy) policies.push(policy);
    }
    if (page.length < PAGE) return policies;
  }
}

function rulesTextIn(payload: unknown): string | undefined {
  if (typeof payload !== "object" || payload === null || !("rules_text" in payload)) return undefined;
  return typeof payload.rules_text === "string" ? payload.rules_text : undefined;
}
