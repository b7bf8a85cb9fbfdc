import { approvalOperations, type ShownApproval } from "@reins/api";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { follow } from "../../api/stream.ts";
import { COMPARISON } from "../../proof/use-comparison.ts";
import { notify, tellsOfApprovals } from "./notice.ts";
import { pendingWith } from "./pending-with.ts";
import { PENDING } from "./use-pending-approvals.ts";

/** Where notices are wanted, one tab goes on when nobody looks at any. */
const BACKGROUND = { name: "reins.approvals", isWanted: tellsOfApprovals } as const;

/** Follows every change of an approval, once for the whole page. */
export function useApprovalStream(): void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  useEffect(() => {
    let wasLost = false;
    return follow(
      approvalOperations.streamApprovals,
      {},
      {
        onEvent: ({ approval }) => {
          const known = queries.getQueryData<readonly ShownApproval[]>(PENDING);
          queries.setQueryData<readonly ShownApproval[]>(PENDING, (now) => now && pendingWith(now, approval));
          // A list that is on its way may be older than this.
          if (queries.isFetching({ queryKey: PENDING }) > 0)
            void queries.invalidateQueries({ queryKey: PENDING });
          void queries.invalidateQueries({ queryKey: ["approval", approval.id] });
          void queries.invalidateQueries({ queryKey: ["approvals", "answered"] });
          if (approval.state !== "pending") void queries.invalidateQueries({ queryKey: ["grants"] });
          else if (!("withheld" in approval) && !known?.some(({ id }) => id === approval.id))
            notify(approval, () => void navigate({ to: "/approvals", search: { approval: approval.id } }));
        },
        background: BACKGROUND,
        // What changed while nobody listened may not be told again.
        onState: (isOpen) => {
          if (isOpen) void queries.invalidateQueries({ queryKey: PENDING });
          // Whoever answers after a break has to show that the history is still the same.
          if (isOpen && wasLost) void queries.invalidateQueries({ queryKey: COMPARISON });
          wasLost = !isOpen;
        },
      },
    );
  }, [queries, navigate]);
}
