import { approvalOperations, type ShownApproval } from "@reins/api";
import type { Operator } from "../../client/api-client.ts";
import { idByPrefix } from "../../client/id-prefix.ts";
import { type ApprovalFilter, approvalPages } from "./approval-pages.ts";

const FORM = {
  what: "approval",
  mark: "apr_",
  length: 26,
  list: "reins approvals list --state all",
} as const;
/** Of what is over, so many are looked through for an id that was not given whole. */
const MOST_SEARCHED = 5_000;

/** The id of the approval that somebody means: of those that wait, else of all, the newest first. */
export function approvalId(given: string, operator: Pick<Operator, "ask">): Promise<string> {
  const search = (filter: ApprovalFilter, most?: number) =>
    async function* () {
      for await (const page of approvalPages(operator, filter, most)) yield page.map(({ id }) => id);
    };
  return idByPrefix(given, FORM, [search({ state: "pending" }), search({ order: "newest" }, MOST_SEARCHED)]);
}

/** The approval that somebody means. */
export async function findApproval(given: string, operator: Pick<Operator, "ask">): Promise<ShownApproval> {
  const id = await approvalId(given, operator);
  return operator.ask(approvalOperations.getApproval, { params: { id }, advice: APPROVAL_ADVICE });
}

/** What to do about an approval that cannot be shown or answered. */
export const APPROVAL_ADVICE = {
  not_found: `To see which there are: ${FORM.list}`,
  conflict: "Nothing was changed. To see it: reins approvals show <id>",
} as const;
