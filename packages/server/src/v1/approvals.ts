import { approvalOperations } from "@reins/api";
import type { Answerer, Approvals } from "@reins/supervisor";
import {
  answererOf,
  approvalTables,
  changeShownTo,
  describeApproval,
  isConcerned,
  shownTo,
} from "@reins/supervisor";
import { HttpProblem } from "../problems.ts";
import { type Batch, follow, type Growing } from "../routes/follow.ts";
import { type AuthorizedCall, eventText, pageOf, perHarness, type Routes } from "../routes/router.ts";

const { listApprovals, getApproval, answerApproval, streamApprovals } = approvalOperations;

/** Approvals: list, details, answers and changes. */
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
    router.stream(streamApprovals, (call, open) => follow(call, open, changesOf(call)));
  },
};

/** Grants that concern the caller. */
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

/** The changes of a tenant's approvals, as the caller may see them. */
function changesOf({ harness, principal: { tenant } }: AuthorizedCall): Growing {
  const tail = tailOf(harness);
  return {
    newest: () => harness.store.query(approvalTables, "lastChange", null),
    subscribe: (wake) => tail.listen(tenant, wake),
    after: async (position, now) => {
      const following = await tail.after(position, answererOf(now));
      return { ...following, more: following.texts.length > 0 };
    },
  };
}

type Change = Awaited<ReturnType<Approvals["changes"]>>[number];

/** A recent change with its texts, one per view of it. */
interface RecentChange {
  readonly change: Change;
  readonly characters: number;
  readonly texts: Map<string, string>;
}

const PAGE = 100;
const MOST_RECENT = 256;
const MOST_CHARACTERS = 4 * 1024 * 1024;

/** A cache of the newest changes, serialized once for all subscribers. Slower readers are served from the store. */
class ApprovalTail {
  readonly #approvals: Approvals;
  readonly #listeners = new Set<{ readonly tenant: string; readonly ring: () => void }>();
  #recent: RecentChange[] = [];
  #characters = 0;
  /** The cache contains every change after this one. */
  #floor: number | undefined;
  #last = 0;

  constructor(approvals: Approvals) {
    this.#approvals = approvals;
    approvals.subscribe((change) => this.#take(change));
  }

  /** Subscribes to the changes of a tenant; returns `unsubscribe`. */
  listen(tenant: string, ring: () => void): () => void {
    const listener = { tenant, ring };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The next changes after a position as a reader may see them; none at the end. */
  async after(position: number, answerer: Answerer): Promise<Omit<Batch, "more">> {
    const { tenant } = answerer;
    if (this.#floor !== undefined && position >= this.#floor) {
      const recent = this.#recent.filter(
        ({ change: { seq, approval } }) => seq > position && approval.tenant === tenant,
      );
      return {
        texts: recent.map((each) => this.#textOf(each, answerer)),
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

  #keep(recent: RecentChange): void {
    this.#recent.push(recent);
    this.#characters += recent.characters;
    while (this.#recent.length > MOST_RECENT || this.#characters > MOST_CHARACTERS) {
      const oldest = this.#recent.shift();
      if (!oldest) return;
      this.#characters -= oldest.characters;
      this.#floor = oldest.change.seq;
    }
  }

  /** The text of a change, shared by all readers with the same view. */
  #textOf({ change, texts }: RecentChange, answerer: Answerer): string {
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

const tailOf = perHarness(({ approvals }) => new ApprovalTail(approvals));
