import { approvalOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/call.ts";

/** One approval, with the words that show what an answer counts for; asked for once it is wanted. */
export function useApproval(id: string, isWanted: boolean) {
  return useQuery({
    queryKey: ["approval", id],
    queryFn: ({ signal }) => call(approvalOperations.getApproval, { params: { id }, signal }),
    enabled: isWanted,
  });
}
