import {
  type Approval,
  type ApprovalChange,
  approvalOperations,
  type Grant,
  type ShownApproval,
} from "@reins/api";
import { type Abortable, allOf, type Http } from "./http.ts";

/** A person's answer to an approval. */
export type ApprovalDecision = "allow_once" | "allow_always" | "deny";

/** What may come with an answer. */
export interface AnswerOptions extends Abortable {
  readonly note?: string | undefined;
  /** For `allow_always`: words that the command begins with. */
  readonly prefix?: string[] | undefined;
}

/** Which approvals to list. */
export interface ApprovalQuery extends Abortable {
  readonly state?: Approval["state"] | undefined;
  readonly session?: string | undefined;
  readonly order?: "oldest" | "newest" | undefined;
}

/** Questions to people, and the standing permissions that came of them. */
export class ApprovalsClient {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists approvals, by default the oldest first; those of others without their content. */
  list({ signal, ...query }: ApprovalQuery = {}): AsyncGenerator<ShownApproval> {
    return allOf(async (after: string | undefined) => {
      const page = await this.#http.call(approvalOperations.listApprovals, {
        query: { ...query, after },
        signal,
      });
      return { items: page.approvals, next: page.next };
    });
  }

  /** Returns an approval with a text that shows exactly what an answer applies to. */
  get(id: string, { signal }: Abortable = {}) {
    return this.#http.call(approvalOperations.getApproval, { params: { id }, signal });
  }

  /** Subscribes to every change, until the signal. None is lost when the connection is. */
  follow({ signal }: Abortable = {}): AsyncGenerator<ApprovalChange> {
    return this.#http.follow(approvalOperations.streamApprovals, { signal });
  }

  /** Yields each approval that waits for an answer once, those of before first, until the signal. */
  async *pending({ signal }: Abortable = {}): AsyncGenerator<Approval> {
    const seen = new Set<string>();
    const stop = new AbortController();
    const opened = Promise.withResolvers<void>();
    const changes = this.#http.follow(approvalOperations.streamApprovals, {
      signal: signal ? AbortSignal.any([signal, stop.signal]) : stop.signal,
      onState: () => opened.resolve(),
    });
    let next = changes.next();
    // Subscribed before the list is read, so that none falls between the two. Rejects where it is awaited, after the list.
    await Promise.race([opened.promise, next.catch(() => undefined)]);
    try {
      for await (const approval of this.list({ state: "pending", signal })) {
        if (!isShown(approval)) continue;
        seen.add(approval.id);
        yield approval;
      }
      for (let { done, value } = await next; !done; { done, value } = await next) {
        next = changes.next();
        next.catch(() => undefined);
        if (value === undefined || !isShown(value.approval)) continue;
        const { id, state } = value.approval;
        if (state !== "pending") seen.delete(id);
        else if (!seen.has(id)) {
          seen.add(id);
          yield value.approval;
        }
      }
    } finally {
      stop.abort();
    }
  }

  /** Answers an approval. A late or second answer rejects with the code `conflict`. */
  answer(
    id: string,
    decision: ApprovalDecision,
    { signal, ...given }: AnswerOptions = {},
  ): Promise<Approval> {
    return this.#http.call(approvalOperations.answerApproval, {
      params: { id },
      body: { decision, ...given },
      signal,
    });
  }

  /** Lists the standing permissions, also revoked ones. */
  grants({ signal, ...query }: Abortable & { readonly user?: string; readonly agent?: string } = {}) {
    return allOf<Grant, string>(async (after) => {
      const page = await this.#http.call(approvalOperations.listGrants, {
        query: { ...query, after },
        signal,
      });
      return { items: page.grants, next: page.next };
    });
  }

  /** Revokes a standing permission, from the next decision on. */
  revoke(id: string, { signal }: Abortable = {}): Promise<Grant> {
    return this.#http.call(approvalOperations.revokeGrant, { params: { id }, signal });
  }
}

function isShown(approval: ShownApproval): approval is Approval {
  return !("withheld" in approval);
}
