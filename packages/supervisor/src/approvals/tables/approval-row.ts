import { z } from "zod";
import { APPROVAL_STATES, type Approval, type ApprovalAnswer } from "../approval.ts";

/** What never changes in an approval. */
type ApprovalBody = Omit<Approval, "turn" | "state" | "answers" | "entry">;

const State = z.enum(APPROVAL_STATES);

/** The columns of an approval that are read. */
export const ApprovalRow = z.object({
  turn: z.string().nullable(),
  state: State,
  answers: z.string(),
  body: z.string(),
  entry: z.string(),
  version: z.number(),
});
export type ApprovalRow = z.infer<typeof ApprovalRow>;

/** The columns to read. */
export const APPROVAL_COLUMNS = Object.keys(ApprovalRow.shape)
  .map((name) => `a.${name}`)
  .join(", ");

/** The part of an approval that never changes, as JSON. */
export function bodyOf(approval: Omit<Approval, "entry">): string {
  const { turn: _turn, state: _state, answers: _answers, ...body } = approval;
  return JSON.stringify(body satisfies ApprovalBody);
}

/** The approval in a row, whose JSON is our own. */
export function approvalIn({ turn, state, answers, body, entry }: Omit<ApprovalRow, "version">): Approval {
  const content: ApprovalBody = JSON.parse(body);
  const given: ApprovalAnswer[] = JSON.parse(answers);
  return { ...content, ...(turn !== null && { turn }), state, answers: given, entry };
}
