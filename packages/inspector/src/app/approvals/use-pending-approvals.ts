import { type Approval, approvalOperations } from "@reins/api";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { call } from "../../api/call.ts";

/** Under which name the approvals that wait are kept. */
export const PENDING = ["approvals", "pending"] as const;
const MOST = 500;

/** The approvals that wait for a person, the oldest first; kept up to date by the stream that the shell follows. */
export function usePendingApprovals(): UseQueryResult<readonly Approval[]> {
  return useQuery({ queryKey: PENDING, queryFn: ({ signal }) => pending(signal), staleTime: Infinity });
}

/** How many questions of a session wait for a person. */
export function usePendingOf(session: string): number {
  return usePendingApprovals().data?.filter((approval) => approval.session === session).length ?? 0;
}

async function pending(signal: AbortSignal): Promise<readonly Approval[]> {
  const query = { state: "pending" as const, limit: MOST };
  const { approvals } = await call(approvalOperations.listApprovals, { query, signal });
  return approvals;
}
