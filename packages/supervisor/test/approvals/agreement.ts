import { deepStrictEqual } from "node:assert/strict";
import type { LedgerReader, PlacedEntry } from "@reins/ledger";
import type { Approval, ApprovalChange, ApprovalState } from "../../src/approvals/approval.ts";
import { approvalTag } from "../../src/approvals/approval.ts";
import type { Approvals } from "../../src/approvals/approvals.ts";
import type { Grant } from "../../src/approvals/grants.ts";

/** One step of an approval, wherever it was read. */
interface Step {
  readonly entry: string;
  readonly state: ApprovalState;
  /** Who said what, so far. */
  readonly answers: readonly string[];
}

/** How much was compared. */
export interface Agreement {
  readonly approvals: Approval[];
  readonly changes: ApprovalChange[];
  readonly grants: Grant[];
}

const FOLLOWS: Readonly<Record<ApprovalState | "new", readonly ApprovalState[]>> = {
  new: ["pending"],
  pending: ["pending", "approved", "denied", "expired", "withdrawn"],
  approved: ["used", "expired", "withdrawn"],
  denied: [],
  expired: [],
  withdrawn: [],
  used: [],
};

/**
 * Rebuilds every approval and grant of a tenant from the ledger alone, and compares: ledger, rows and events must tell
 * the same story, and it must be one that can happen. Throws where they do not.
 */
export async function checkAgreement(
  ledger: Pick<LedgerReader, "read">,
  approvals: Pick<Approvals, "list" | "changes" | "grants">,
  tenant: string,
): Promise<Agreement> {
  const rows = await everyPage((last?: Approval) =>
    approvals.list({ tenant, after: last?.id, limit: 1_000 }),
  );
  const changes = await everyPage((last?: ApprovalChange) =>
    approvals.changes({ tenant, after: last?.seq ?? 0, limit: 1_000 }),
  );
  const grants = await everyPage((last?: Grant) =>
    approvals.grants.list({ tenant, after: last?.id, limit: 1_000 }),
  );
  const entries = await everyPage((last?: PlacedEntry) =>
    ledger.read({ after: last?.seq ?? -1, limit: 1_000 }),
  );
  const recorded = stepsInLedger(entries.filter(({ entry }) => tenantIn(entry.payload) === tenant));
  deepStrictEqual(stepsInFeed(changes), recorded, "events and ledger differ");
  const ends = new Map([...recorded].map(([id, steps]) => [id, steps.at(-1)]));
  const kept = rows.map(({ id, state, answers }) => [id, { state, answers: said(answers) }] as const);
  const rebuilt = [...ends].map(([id, end]) => [id, { state: end?.state, answers: end?.answers }] as const);
  deepStrictEqual(new Map(kept), new Map(rebuilt), "approvals and ledger differ");
  for (const { id, entry } of rows) deepStrictEqual(entry, recorded.get(id)?.[0]?.entry, "entry differs");
  for (const steps of recorded.values()) expectPossible(steps);
  deepStrictEqual(grantsInRows(grants), grantsInLedger(entries, tenant), "grants and ledger differ");
  return { approvals: rows, changes, grants };
}

/** The steps that the ledger knows, by approval. */
function stepsInLedger(entries: readonly PlacedEntry[]): Map<string, Step[]> {
  const steps = new Map<string, Step[]>();
  for (const { entry } of entries) {
    const id = memberOf(entry.payload, "approval");
    const state = stateIn(entry.quality, entry.payload);
    if (typeof id !== "string" || state === undefined) continue;
    deepStrictEqual(entry.tags.includes(approvalTag(id)), true, `the entry ${entry.cid} lacks its tag`);
    const before = steps.get(id) ?? [];
    const answer = memberOf(entry.payload, "answer");
    const answers = [...(before.at(-1)?.answers ?? []), ...(answer === undefined ? [] : [words(answer)])];
    steps.set(id, [...before, { entry: entry.cid, state, answers }]);
  }
  return steps;
}

function stateIn(quality: string, payload: unknown): ApprovalState | undefined {
  const verdict = memberOf(payload, "verdict");
  if (quality === "policy_verdict") return verdict === "allowed" || verdict === "modify" ? "used" : undefined;
  const state = memberOf(payload, "state");
  return isState(state) ? state : undefined;
}

function stepsInFeed(changes: readonly ApprovalChange[]): Map<string, Step[]> {
  const steps = new Map<string, Step[]>();
  for (const { entry, approval } of changes) {
    const { id, state, answers } = approval;
    steps.set(id, [...(steps.get(id) ?? []), { entry, state, answers: said(answers) }]);
  }
  return steps;
}

function expectPossible(steps: readonly Step[]): void {
  let before: ApprovalState | "new" = "new";
  for (const { state, answers } of steps) {
    if (!FOLLOWS[before].includes(state)) throw new Error(`${before} cannot become ${state}`);
    deepStrictEqual(new Set(answers).size, answers.length, "an answer counts twice");
    before = state;
  }
}

function grantsInLedger(entries: readonly PlacedEntry[], tenant: string): Map<unknown, boolean> {
  const grants = new Map<unknown, boolean>();
  for (const { entry } of entries) {
    if (entry.quality !== "approval" || memberOf(entry.payload, "tenant") !== tenant) continue;
    const grant = memberOf(entry.payload, "grant");
    if (typeof grant === "string") grants.set(grant, false);
    else if (grant !== undefined && !grants.has(memberOf(grant, "id")))
      grants.set(memberOf(grant, "id"), true);
  }
  return grants;
}

/** Grants by whether they were revoked; one that expired was not. */
function grantsInRows(grants: readonly Grant[]): Map<unknown, boolean> {
  return new Map(grants.map(({ id, revoked_by }) => [id, revoked_by === undefined]));
}

function said(answers: Approval["answers"]): string[] {
  return answers.map(words);
}

function words(answer: unknown): string {
  return `${memberOf(answer, "by")} ${memberOf(answer, "decision")} ${memberOf(answer, "at")}`;
}

/** Whose an entry is; that of a verdict says so in its subject. */
function tenantIn(payload: unknown): unknown {
  return memberOf(payload, "tenant") ?? memberOf(memberOf(payload, "subject"), "tenant");
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function isState(value: unknown): value is ApprovalState {
  return typeof value === "string" && value !== "new" && Object.hasOwn(FOLLOWS, value);
}

async function everyPage<Item>(read: (last?: Item) => Promise<Item[]>): Promise<Item[]> {
  const all: Item[] = [];
  for (;;) {
    const page = await read(all.at(-1));
    all.push(...page);
    if (page.length < 1_000) return all;
  }
}
