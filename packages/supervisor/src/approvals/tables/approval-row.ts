import { z } from "zod";
import { APPROVAL_STATES, type Approval, type ApprovalAnswer } from "../approval.ts";
import type { StoredApproval } from "../tables.ts";

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
