import { type Approval, approvalOperations, type ShownApproval, type WithheldApproval } from "@reins/api";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { call } from "../../api/call.ts";

/** Under which name the approvals that wait are kept. */
export const PENDING = ["approvals", "pending"] as const;
const MOST = 500;

/**
 * The approvals that wait and concern the one who looks, the oldest first; kept up to date by the stream that the shell
 * follows.
 */
export function usePendingApprovals(): UseQueryResult<readonly Approval[]> {
  return usePending(concerning);
}

/** Those that wait for others. */
export function useWithheldApprovals(): UseQueryResult<readonly WithheldApproval[]> {
  return usePending(withheld);
}

/** How many questions of a session wait for a person. */
export function usePendingOf(session: string): number {
  return usePendingApprovals().data?.filter((approval) => approval.session === session).length ?? 0;
}

function usePending<Data>(select: (all: readonly ShownApproval[]) => Data): UseQueryResult<Data> {
  return useQuery({
    queryKey: PENDING,
    queryFn: ({ signal }) => pending(signal),
    staleTime: Infinity,
    select,
  });
}

function concerning(all: readonly ShownApproval[]): readonly Approval[] {
  return all.flatMap((approval) => ("withheld" in approval ? [] : [approval]));
}

function withheld(all: readonly ShownApproval[]): readonly WithheldApproval[] {
  return all.flatMap((approval) => ("facts" in approval ? [] : [approval]));
}

async function pending(signal: AbortSignal): Promise<readonly ShownApproval[]> {
  const query = { state: "pending" as const, limit: MOST };
  const { approvals } = await call(approvalOperations.listApprovals, { query, signal });
  return approvals;
}
