import { type ApprovalChange, approvalOperations, type ShownApproval } from "@reins/api";
import type { Operator } from "../../../client/api-client.ts";
import { Unreachable } from "../../../client/transport.ts";
import { approvalPages } from "../approval-pages.ts";

/** An approval as it was found, or as a change left it. */
export type Seen = { readonly approval: ShownApproval } & Partial<Omit<ApprovalChange, "approval">>;

/** How to follow approvals. */
export interface FeedOptions {
  readonly signal: AbortSignal;
  /** Told that the connection was lost; settles when it is time to try again, and rejects when it is not worth it. */
  readonly lost: (error: Unreachable, attempt: number) => Promise<void>;
}

/** What waits for an answer, then every change as it comes, each once. Goes on where it was when Reins comes back. */
export async function* approvalFeed(
  operator: Pick<Operator, "ask" | "follow">,
  { signal, lost }: FeedOptions,
): AsyncGenerator<Seen> {
  const known = new Set<string>();
  let after: string | undefined;
  let begun = false;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      const changes = await operator.follow(approvalOperations.streamApprovals, { signal, after });
      begun = true;
      attempt = 0;
      // What was asked before the stream was open is not on it; what was asked since may be in both.
      for await (const page of approvalPages(operator, { state: "pending" }))
        for (const approval of page) if (isNew(known, approval)) yield { approval };
      for await (const { id, data } of changes) {
        after = id;
        if (data && isNew(known, data.approval)) yield data;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!begun || !(error instanceof Unreachable)) throw error;
      await lost(error, attempt);
    }
  }
}

/** Whether an approval was not seen like this before. What is over is forgotten, so that little has to be kept. */
function isNew(known: Set<string>, approval: ShownApproval): boolean {
  const { id, state } = approval;
  if (state !== "pending") {
    for (const key of known) if (key.startsWith(`${id} `)) known.delete(key);
    return true;
  }
  const key = `${id} ${"withheld" in approval ? 0 : approval.answers.length}`;
  if (known.has(key)) return false;
  known.add(key);
  return true;
}
