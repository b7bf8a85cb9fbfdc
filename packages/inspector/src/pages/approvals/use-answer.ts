import { type Approval, approvalOperations } from "@reins/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/call.ts";
import { ProblemError } from "../../api/problem.ts";
import { pendingWith } from "../../app/approvals/pending-with.ts";
import { PENDING } from "../../app/approvals/use-pending-approvals.ts";
import { noteLate } from "./late-notice.tsx";

/** A person's answer. */
export interface Answer {
  readonly decision: "allow_once" | "allow_always" | "deny";
  readonly note?: string;
  readonly grant_expires_ms?: number;
  readonly prefix?: string[];
}

/** Answers an approval, once. Somebody else may have been faster, which is told as such. */
export function useAnswer(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Answer) => call(approvalOperations.answerApproval, { params: { id }, body }),
    onSuccess: (approval) =>
      queries.setQueryData<readonly Approval[]>(PENDING, (known) => known && pendingWith(known, approval)),
    onError: (error) => {
      if (!isTooLate(error)) return;
      noteLate(id);
      void queries.invalidateQueries({ queryKey: PENDING });
    },
  });
}

/** Whether an answer came after another's. */
export function isTooLate(error: unknown): boolean {
  return error instanceof ProblemError && error.status === 409;
}
