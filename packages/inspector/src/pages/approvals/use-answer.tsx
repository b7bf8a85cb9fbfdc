import { type Approval, approvalOperations } from "@reins/api";
import { ApiError } from "@reins/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import type { z } from "zod";
import { Observable } from "../../acp/observable.ts";
import { call } from "../../api/call.ts";
import { PENDING, upsertPending } from "../../app/approvals.ts";
import { Button } from "../../design/button.tsx";

type Answer = z.input<typeof approvalOperations.answerApproval.body>;

/** Answers an approval once. Reports if another answer was first. */
export function useAnswer(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Answer) => call(approvalOperations.answerApproval, { params: { id }, body }),
    onSuccess: (approval) =>
      queries.setQueryData<readonly Approval[]>(PENDING, (known) => known && upsertPending(known, approval)),
    onError: (error) => {
      if (!isTooLate(error)) return;
      late.set(id);
      void queries.invalidateQueries({ queryKey: PENDING });
    },
  });
}

/** Whether another answer was first. */
export function isTooLate(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409;
}

/** The approval that another user answered first; it has left the page by then. */
const late = new Observable<string | undefined>(undefined);
const SHOWN_MS = 15_000;

/** Reports that another answer was first. */
export function LateNotice() {
  const id = useSyncExternalStore(late.subscribe, late.current, late.current);
  useEffect(() => {
    if (id === undefined) return;
    const timer = setTimeout(() => late.set(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id]);
  if (id === undefined) return null;
  return (
    <div role="alert" className="flex items-center gap-3 rounded bg-warn-wash px-3 py-1.5 text-sm text-warn">
      <span className="flex-1">Another user answered first; that answer counts.</span>
      <Button kind="quiet" onClick={() => late.set(undefined)}>
        Dismiss
      </Button>
    </div>
  );
}
