import { approvalOperations } from "@reins/api";
import { AutoResetEvent, type SseWriter, sseText } from "@reins/kit";
import type { Answerer, Approvals, Harness } from "@reins/supervisor";
import {
  answererOf,
  approvalTables,
  changeShownTo,
  describeApproval,
  isConcerned,
  shownTo,
} from "@reins/supervisor";
import { lastEventId } from "../gateway/request.ts";
import { HttpProblem } from "../problems.ts";
import { pageOf } from "../routes/read-call.ts";
import { type AuthorizedCall, eventText, type Routes } from "../routes/router.ts";

const { listApprovals, getApproval, answerApproval, streamApprovals } = approvalOperations;

/** Questions to people: which there are, what they are about to those they concern, and the answers. */
export const approvalRoutes: Routes = {
  name: "approvals",
  mount(router) {
    router.handle(listApprovals, async ({ query, principal, harness }) => {
      const { tenant } = principal;
      const answerer = answererOf(principal);
      const { items, next } = await pageOf(query.limit, (limit) =>
        harness.approvals.list({ ...query, tenant, limit }),
      );
      return { approvals: items.map((approval) => shownTo(answerer, approval)), next };
    });
    router.handle(getApproval, async ({ params: { id }, principal, harness }) => {
      const approval = await harness.approvals.get(id, principal.tenant);
      if (!approval) throw new HttpProblem("not_found", `there is no approval ${id}`);
      const shown = shownTo(answererOf(principal), approval);
      if ("withheld" in shown) return shown;
      return { ...shown, description: describeApproval(shown) };
    });
    router.handle(answerApproval, ({ params, body, principal, harness }) =>
      harness.approvals.answer(params.id, { ...body, ...answererOf(principal) }),
    );
    router.stream(streamApprovals, streamApprovalChanges);
  },
};

/** What people have allowed for always, as far as it concerns the one who looks. */
export const grantRoutes: Routes = {
  name: "grants",
  mount(router) {
    router.handle(approvalOperations.listGrants, async ({ query, principal, harness }) => {
      const { tenant } = principal;
      const answerer = answererOf(principal);
      const { items, next } = await pageOf(query.limit, (limit) =>
        harness.approvals.grants.list({ ...query, tenant, limit }),
      );
      return { grants: items.filter((grant) => isConcerned(answerer, grant)), next };
    });
    router.handle(approvalOperations.revokeGrant, ({ params, principal, harness }) =>
      harness.approvals.grants.revoke(params.id, answererOf(principal)),
    );
  },
};

/**
 * Tells somebody of every change of their tenant's approvals, as far as it concerns them: from now on, or after the last
 * one they saw.
 */
async function streamApprovalChanges(call: AuthorizedCall, open: () => SseWriter): Promise<void> {
  const { request, harness, principal } = call;
  const { tenant } = principal;
  const tail = ApprovalTail.of(harness);
  const newest = await harness.store.query(approvalTables, "lastChange", null);
  let position = Math.min(lastEventId(request) ?? newest, newest);
  const stream = open();
  const woken = new AutoResetEvent();
  const unlisten = tail.listen(tenant, () => woken.set());
  stream.onKeepAlive(() => woken.set());
  stream.closed.addEventListener("abort", () => woken.set(), { once: true });
  try {
    await stream.send(sseText({ id: position }));
    // A token that was revoked, or a harness that is gone, ends it.
    for (
      let now = await call.currentPrincipal();
      now && !stream.closed.aborted;
      now = await call.currentPrincipal()
    ) {
      const following = await tail.after(position, answererOf(now));
      for (const text of following.texts) if (!(await stream.send(text))) return;
      position = following.position;
      if (following.texts.length === 0) await woken.wait();
    }
  } finally {
    unlisten();
  }
}

type Change = Awaited<ReturnType<Approvals["changes"]>>[number];

/** A change that was told, and its texts: one for each way in which it is shown to those who listen. */
interface Told {
  readonly change: Change;
  readonly characters: number;
  readonly texts: Map<string, string>;
}

/** What comes after a position, and where that ends. */
interface Following {
  readonly texts: readonly string[];
  readonly position: number;
}

const PAGE = 100;
const MOST_TOLD = 256;
const MOST_CHARACTERS = 4 * 1024 * 1024;

/**
 * The newest changes of approvals, put into words once for all who listen. Who is further behind than this reaches is
 * served from the disk, at its own pace.
 */
class ApprovalTail {
  static readonly #tails = new WeakMap<Harness, ApprovalTail>();
  readonly #approvals: Approvals;
  readonly #listeners = new Set<{ readonly tenant: string; readonly ring: () => void }>();
  #told: Told[] = [];
  #characters = 0;
  /** Every change after this one, and up to the last, is here. */
  #floor: number | undefined;
  #last = 0;

  private constructor(approvals: Approvals) {
    this.#approvals = approvals;
    approvals.subscribe((change) => this.#take(change));
  }

  /** The tail of a harness; there is one. */
  static of(harness: Harness): ApprovalTail {
    const tail = ApprovalTail.#tails.get(harness) ?? new ApprovalTail(harness.approvals);
    ApprovalTail.#tails.set(harness, tail);
    return tail;
  }

  /** Rings at every change of a tenant; the returned function ends that. */
  listen(tenant: string, ring: () => void): () => void {
    const listener = { tenant, ring };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Some of what somebody has not seen after a position, as it is shown to them; none when they have seen all. */
  async after(position: number, answerer: Answerer): Promise<Following> {
    const { tenant } = answerer;
    if (this.#floor !== undefined && position >= this.#floor) {
      const told = this.#told.filter(
        ({ change: { seq, approval } }) => seq > position && approval.tenant === tenant,
      );
      return {
        texts: told.map((each) => this.#textOf(each, answerer)),
        position: Math.max(position, this.#last),
      };
    }
    const last = this.#last;
    const changes = await this.#approvals.changes({ after: position, limit: PAGE, tenant });
    const end = changes.at(-1)?.seq ?? Math.max(position, last);
    return { texts: changes.map((change) => this.#text(change, answerer)), position: end };
  }

  #take(change: Change): void {
    const { seq, approval } = change;
    this.#floor ??= seq - 1;
    this.#last = seq;
    this.#keep({ change, characters: JSON.stringify(change).length, texts: new Map() });
    for (const { tenant, ring } of this.#listeners) if (tenant === approval.tenant) ring();
  }

  #keep(told: Told): void {
    this.#told.push(told);
    this.#characters += told.characters;
    while (this.#told.length > MOST_TOLD || this.#characters > MOST_CHARACTERS) {
      const oldest = this.#told.shift();
      if (!oldest) return;
      this.#characters -= oldest.characters;
      this.#floor = oldest.change.seq;
    }
  }

  /** The text of a change for one listener, made once for all who are shown the same of it. */
  #textOf({ change, texts }: Told, answerer: Answerer): string {
    const { approval } = changeShownTo(answerer, change);
    const key = "withheld" in approval ? "withheld" : approval.options.join();
    const text = texts.get(key) ?? this.#text(change, answerer);
    texts.set(key, text);
    return text;
  }

  #text(change: Change, answerer: Answerer): string {
    return eventText(streamApprovals, change.seq, changeShownTo(answerer, change));
  }
}
