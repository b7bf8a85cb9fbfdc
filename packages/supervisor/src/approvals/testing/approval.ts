import type { Approval } from "../approval.ts";
import { type ApprovalRequest, newApproval } from "../request.ts";

/** The approval `apr_x` that a request asks for, with what differs. */
export function approvalFor(request: ApprovalRequest, now: Date, own: Partial<Approval> = {}): Approval {
  const asked = newApproval(request, { id: "apr_x", binding: "ab12".repeat(16), now });
  return { ...asked, entry: "", ...own };
}
