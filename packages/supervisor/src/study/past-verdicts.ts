import { type EntryRange, type LedgerReader, type PlacedEntry, restoredJson } from "@reins/ledger";
import {
  type DecisionInput,
  explainedBy,
  type Policy,
  RecordReader,
  readPolicy,
  type Subject,
} from "@reins/policy";
import { z } from "zod";
import type { Usage } from "../limits/tables.ts";
import { tenantPrefix } from "../record/record.ts";

/** Which verdicts of the past. */
export interface VerdictRange {
  /** Not before, RFC 3339. */
  readonly since?: string | undefined;
  /** At most so many, the newest of them; all when absent. */
  readonly limit?: number | undefined;
  /** Only this tenant's count, so that a busy neighbour does not use the limit; all tenants' without one. */
  readonly tenant?: string | undefined;
  /** Only what precedes this place. */
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

/** Why a verdict is what it is, or would be. */
export interface Explanation {
  /** The verdict's own entry, for one that was given. */
  readonly entry: string | null;
  readonly event_type: string;
  /** RFC 3339. */
  readonly at: string;
  readonly subject: Subject;
  readonly facts: DecisionInput["action"];
  readonly policy: {
    readonly constitution_hash: string;
    readonly rules_hash: string;
    readonly current: boolean;
  };
  readonly rules: ReturnType<typeof explainedBy>["rules"];
  /** What the rules say. */
  readonly said: { readonly verdict: string; readonly rule: string | null; readonly reason: string };
  /** What was decided in the end, after limits, other harnesses and people. */
  readonly recorded: Recorded | null;
  readonly counters: DecisionInput["counters"];
  readonly limits: readonly (Omit<ReturnType<typeof explainedBy>["limits"][number], "condition"> & {
    readonly used: Usage | null;
  })[];
  readonly harnesses: readonly string[];
  /** What could not be explained, and why. */
  readonly note: string | null;
}

interface Recorded {
  readonly verdict: string;
  readonly rule: string | null;
  readonly reason: string;
  readonly enforcement: string;
  readonly approval: string | null;
  readonly grant: string | null;
}

/** What is known beside the decision itself. */
export interface ExplanationParts {
  readonly input: DecisionInput;
  readonly policy: Policy;
  readonly current: boolean;
  /** What the subject has used of each limit, by its name. */
  readonly used: ReadonlyMap<string, Usage>;
  readonly entry?: string;
  readonly recorded?: Recorded;
  readonly note?: string | undefined;
}

/** Explains a decision by the rules that made it. */
export function explanationOf(parts: ExplanationParts): Explanation {
  const { input, policy, current, used, entry = null, recorded = null, note = null } = parts;
  const { rules, verdict, limits, harnesses, facts } = explainedBy(policy, input);
  return {
    ...{ entry, event_type: input.event_type, at: new Date(input.at).toISOString() },
    ...{ subject: input.subject, facts, counters: input.counters },
    policy: { ...policy.hashes, current },
    rules,
    said: { verdict: verdict.verdict, rule: verdict.rule ?? null, reason: verdict.reason },
    recorded,
    limits: limits.map(({ condition: _, ...limit }) => ({ ...limit, used: used.get(limit.name) ?? null })),
    harnesses,
    note,
  };
}

const Payload = z.object({
  verdict: z.string(),
  rule: z.string().nullable(),
  reason: z.string(),
  enforcement: z.string(),
  constitution_hash: z.string().nullable(),
  approval: z.string().exactOptional(),
  grant: z.string().exactOptional(),
});

/** A verdict of the record, made ready to be decided again. */
export interface PastDecision {
  readonly input: DecisionInput;
  readonly rules_hash: string;
  readonly recorded: Recorded;
}

/** Reads the payload of a verdict; a text says why it cannot be explained. */
export function pastDecision(payload: unknown): PastDecision | string {
  const past = new RecordReader().read(payload);
  const { data } = Payload.safeParse(payload);
  if (!data) return "it is not in the form of a verdict";
  if (typeof past === "string") return WHY[past];
  const { event_type, at, subject, rules_hash, modified_from: from } = past;
  const { verdict, rule, reason, enforcement, approval = null, grant = null } = data;
  return {
    input: {
      ...{ event_type, subject, at },
      action: from?.action ?? past.action,
      counters: from?.counters ?? past.counters,
    },
    rules_hash,
    recorded: { verdict, rule, reason, enforcement, approval, grant },
  };
}

const WHY = {
  no_policy: "no policy was in force when it was decided",
  no_facts: "it was blocked before it was known what it would do",
  unreadable: "it was recorded by another version of Reins",
} as const;
