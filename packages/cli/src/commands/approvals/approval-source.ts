import { type Approval, type ApprovalChange, approvalOperations, type ShownApproval } from "@reins/api";
import { type ApiClient, idByPrefix } from "../../client/api-client.ts";

export interface ApprovalFilter {
  readonly state?: Approval["state"] | undefined;
  readonly session?: string | undefined;
  readonly order?: "oldest" | "newest" | undefined;
}

/** An approval can be a megabyte, and a page must fit into a response. */
const PAGE = 50;

export async function* approvalPages(
  client: Pick<ApiClient, "call">,
  filter: ApprovalFilter,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<ShownApproval[]> {
  let after: string | undefined;
  for (let wanted = most; wanted > 0; ) {
    const query = { ...filter, after, limit: Math.min(PAGE, wanted) };
    const { approvals, next } = await client.call(approvalOperations.listApprovals, { query });
    if (approvals.length > 0) yield approvals;
    if (next === undefined) return;
    after = next;
    wanted -= approvals.length;
  }
}

const ID_FORMAT = {
  what: "approval",
  mark: "apr_",
  length: 26,
  list: "reins approvals list --state all",
} as const;
/** How many closed approvals are searched for an abbreviated id. */
const MOST_SEARCHED = 5_000;

/** Completes an approval's id: among the pending ones, else among all, the newest first. */
export function approvalId(given: string, client: Pick<ApiClient, "call">): Promise<string> {
  return idByPrefix(given, ID_FORMAT, [
    () => approvalPages(client, { state: "pending" }),
    () => approvalPages(client, { order: "newest" }, MOST_SEARCHED),
  ]);
}

/** An answer to an approval. */
export interface Answer {
  readonly decision: Approval["options"][number];
  readonly note?: string;
}

/** Sends an answer to an approval by its whole id. */
export function answerTo(id: string, body: Answer, client: Pick<ApiClient, "call">): Promise<Approval> {
  return client.call(approvalOperations.answerApproval, { params: { id }, body, advice: APPROVAL_ADVICE });
}

export const APPROVAL_ADVICE = {
  not_found: `To see which there are: ${ID_FORMAT.list}`,
  conflict: "Nothing was changed. To see it: reins approvals show <id>",
} as const;

export type Seen = { readonly approval: ShownApproval } & Partial<Omit<ApprovalChange, "approval">>;

export interface FeedOptions {
  readonly signal: AbortSignal;
  /** Called when the connection is lost; the feed waits for another. */
  readonly onLost: () => void;
}

/** Yields the pending approvals, then every change once. Continues after a reconnect. */
export async function* approvalFeed(
  client: Pick<ApiClient, "call" | "follow">,
  { signal, onLost }: FeedOptions,
): AsyncGenerator<Seen> {
  const known = new Set<string>();
  const opened = Promise.withResolvers<void>();
  const stop = new AbortController();
  let wasOpen = false;
  const onState = (isOpen: boolean) => {
    if (isOpen) opened.resolve();
    else if (wasOpen && !signal.aborted && !stop.signal.aborted) onLost();
    wasOpen = isOpen;
  };
  // Fails where no server answers, which the stream would wait for.
  await client.call(approvalOperations.listApprovals, { query: { limit: 1 } });
  const changes = client.follow(approvalOperations.streamApprovals, {
    signal: AbortSignal.any([signal, stop.signal]),
    onState,
  });
  try {
    const first = changes.next();
    // Approvals from before the stream are not on it; later ones may be in both.
    await Promise.race([opened.promise, first]);
    // Rejects where it is awaited, after the list.
    first.catch(() => undefined);
    for await (const page of approvalPages(client, { state: "pending" }))
      for (const approval of page) if (isNew(known, approval)) yield { approval };
    for (let step = await first; !step.done; step = await changes.next())
      if (isNew(known, step.value.approval)) yield step.value;
  } finally {
    stop.abort();
  }
}

/** Whether an approval was not seen in this state. Forgets closed ones, so that the set stays small. */
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
