import { z } from "zod";
import { operation } from "../operation.ts";
import { PageAfter, PageLimit, PathName } from "../text.ts";
import {
  Approval,
  ApprovalChange,
  ApprovalPage,
  ApprovalState,
  DescribedApproval,
  GivenAnswer,
  WithheldApproval,
} from "./approval.ts";
import { Grant, GrantPage } from "./grant.ts";

const name = z.string().min(1).max(256).optional();

/** What can be asked for about approvals and grants. */
export const approvalOperations = {
  listApprovals: operation({
    id: "list_approvals",
    method: "GET",
    path: "/v1/approvals",
    summary:
      "The approvals of one's tenant, the oldest first unless asked otherwise; of those of others only that they wait.",
    audience: "person",
    query: z.strictObject({
      state: ApprovalState.optional(),
      session: name,
      order: z.enum(["oldest", "newest"]).optional(),
      limit: PageLimit,
      after: PageAfter,
    }),
    answer: ApprovalPage,
  }),
  streamApprovals: operation({
    id: "stream_approvals",
    method: "GET",
    path: "/v1/approvals/stream",
    summary: "Every change of an approval of one's tenant as it happens, or after `Last-Event-ID`.",
    audience: "person",
    answer: ApprovalChange,
    events: "approval",
    problems: ["not_acceptable"],
  }),
  getApproval: operation({
    id: "get_approval",
    method: "GET",
    path: "/v1/approvals/{id}",
    summary: "One approval, with the words that show what an answer counts for.",
    audience: "person",
    params: z.strictObject({ id: PathName }),
    answer: z.union([WithheldApproval, DescribedApproval]),
    problems: ["not_found"],
  }),
  answerApproval: operation({
    id: "answer_approval",
    method: "POST",
    path: "/v1/approvals/{id}/answer",
    summary: "Answers, once: as its user, or with a role that may. A late or second answer is a conflict.",
    audience: "person",
    params: z.strictObject({ id: PathName }),
    body: GivenAnswer,
    answer: Approval,
    problems: ["not_found", "forbidden", "conflict"],
  }),
  listGrants: operation({
    id: "list_grants",
    method: "GET",
    path: "/v1/grants",
    summary:
      "What was allowed for always to oneself, or to one's tenant for approvers; revoked grants too, the oldest first.",
    audience: "person",
    query: z.strictObject({ user: name, agent: name, limit: PageLimit, after: PageAfter }),
    answer: GrantPage,
  }),
  revokeGrant: operation({
    id: "revoke_grant",
    method: "DELETE",
    path: "/v1/grants/{id}",
    summary: "Takes a grant back, from the next decision on.",
    audience: "person",
    params: z.strictObject({ id: PathName }),
    answer: Grant,
    problems: ["not_found", "conflict"],
  }),
} as const;
