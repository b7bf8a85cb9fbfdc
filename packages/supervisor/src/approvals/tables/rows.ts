import { type Database, StoreError } from "@reins/store";
import { z } from "zod";
import type { ApprovalState } from "../approval.ts";
import { APPROVAL_STATES, type Approval, type ApprovalAnswer, approvalTag } from "../approval.ts";
import type { StoredApproval } from "../tables.ts";

const DEFAULT = 100;

const MOST = 1_000;

/** How many rows a page has, given what was asked for. */
export function pageSize(limit = DEFAULT): number {
  return Math.max(1, Math.min(Math.trunc(limit) || DEFAULT, MOST));
}

/** What never changes in an approval, as it is kept. */
type ApprovalBody = Omit<Approval, "turn" | "state" | "answers" | "entry">;

const State = z.enum(APPROVAL_STATES);

/** The columns of an approval that are read. */
const ApprovalRow = z.object({
  turn: z.string().nullable(),
  state: State,
  answers: z.string(),
  body: z.string(),
  entry: z.string(),
  version: z.number(),
  sealed: z.string().nullable(),
  waits: z.number(),
});

/** The columns to read beside `state` and `answers`, which a change has its own of. */
export const KEPT_COLUMNS = "a.turn, a.body, a.entry, a.version, a.sealed, a.state = 'pending' AS waits";

/** The approval in a row, whose JSON is our own. */
export function storedIn(row: unknown): StoredApproval {
  const { turn, state, answers, body, entry, version, sealed, waits } = ApprovalRow.parse(row);
  const content: ApprovalBody = JSON.parse(body);
  const given: ApprovalAnswer[] = JSON.parse(answers);
  const approval = { ...content, ...(turn !== null && { turn }), state, answers: given, entry };
  return { approval, version, waits: waits === 1, ...(sealed !== null && { sealed }) };
}

/** An entry of the ledger and its place. */
interface FoundEntry {
  readonly seq: number;
  readonly cid: string;
}

/** The most entries that one commit adds; what it added is looked through one by one, the ledger's index is behind. */
const MOST_IN_COMMIT = 1_024;

/**
 * Finds, inside a commit, the entry that records a change of an approval: the newest with its tag, written by that same
 * commit. A change that is not on the record, or is there as something else, undoes the commit.
 */
export function entryFinder(database: Database) {
  const newest = database.prepare(
    `SELECT e.seq, e.cid, e.quality, json_extract(r.body, '$.payload.state') AS state,
       json_extract(r.body, '$.payload.verdict') AS verdict
     FROM ledger_recent r JOIN ledger_entries e ON e.seq = r.seq
     WHERE e.seq > max(?, (SELECT max(seq) FROM ledger_entries) - ${MOST_IN_COMMIT})
       AND EXISTS (SELECT 1 FROM json_each(r.body, '$.tags') WHERE value = ?)
     ORDER BY e.seq DESC LIMIT 1`,
  );
  return (id: string, after: number, state: ApprovalState): FoundEntry => {
    const found = newest.get(after, approvalTag(id));
    if (isEntry(found) && records(found, state)) return found;
    const text = `no entry of this commit records that the approval ${id} is ${state}; it needs the tag ${approvalTag(id)}`;
    throw new StoreError("invalid", text);
  };
}

/** A use is recorded by the verdict that allows something, everything else by an entry that names the state. */
function records({ quality, state, verdict }: Recorded, becomes: ApprovalState): boolean {
  if (becomes !== "used") return quality === "approval" && state === becomes;
  return quality === "policy_verdict" && (verdict === "allowed" || verdict === "modify");
}

interface Recorded {
  readonly quality: unknown;
  readonly state: unknown;
  readonly verdict: unknown;
}

function isEntry(row: unknown): row is FoundEntry & Recorded {
  return typeof row === "object" && row !== null && "seq" in row && "cid" in row && "verdict" in row;
}
