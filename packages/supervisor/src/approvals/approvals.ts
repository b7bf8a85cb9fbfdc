import { randomBytes } from "node:crypto";
import type { Ledger } from "@reins/ledger";
import { type Change, change, type Store } from "@reins/store";
import { type Clock, systemClock } from "../clock.ts";
import type { Redact } from "../redaction/redact.ts";
import { SupervisorError } from "../supervisor-error.ts";
import { answered, isForAlways } from "./answered.ts";
import { type Answerer, expectPerson } from "./answerer.ts";
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalChange,
  type ApprovalOption,
  isOpen,
  isOver,
} from "./approval.ts";
import { bindingOf } from "./binding.ts";
import { Expiry } from "./expiry.ts";
import { type ApprovalListener, Feed } from "./feed.ts";
import { Grants } from "./grants.ts";
import { answeredDraft, askedDraft } from "./record.ts";
import { type ApprovalRequest, newApproval } from "./request.ts";
import { type Settled, settledBy } from "./settled.ts";
import { Steps } from "./steps.ts";
import {
  type ApprovalRange,
  approvalTables,
  type ChangeRange,
  type DeliveryRange,
  type StoredApproval,
} from "./tables.ts";
import { Deliveries } from "./webhooks/deliveries.ts";
import type { Delivery } from "./webhooks/delivery.ts";
import type { Post } from "./webhooks/post.ts";
import type { Webhook } from "./webhooks/webhook.ts";

export type { Approval } from "./approval.ts";

/** What approvals stand on. */
export interface ApprovalsOptions {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly clock?: Clock;
  /** Makes the unguessable part of an id. */
  readonly randomId?: () => string;
  readonly webhooks?: readonly Webhook[];
  /** Sends to a webhook. */
  readonly post?: Post;
  /** How many approvals of one session may be open at once. */
  readonly maxOpen?: number;
  /** Takes secrets out of what is recorded; by default those that are known by their form. */
  readonly redact?: Redact;
  /** Told what went wrong in the background: a listener that threw, a sweep that could not be written. */
  readonly onError?: (error: unknown) => void;
}

/** A person's answer. */
export interface GivenAnswer extends Answerer {
  readonly decision: ApprovalOption;
  readonly note?: string | undefined;
  /** How long an "always" lasts; by default until it is revoked. */
  readonly grant_expires_ms?: number | undefined;
}

/** The approvals of a turn that was cancelled, or of a session that ended. */
export interface WithdrawnPart {
  readonly tenant: string;
  readonly session: string;
  readonly turn?: string | undefined;
}

const SWEEP = 100;

/**
 * Questions to people, which cannot get lost: every step of one is a single commit of the approval, the ledger entry
 * that records it, the event that tells of it and what webhooks are to be sent.
 */
export class Approvals {
  readonly grants: Grants;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #randomId: () => string;
  readonly #maxOpen: number;
  readonly #feed: Feed;
  readonly #steps: Steps;
  readonly #expiry: Expiry;
  readonly #deliveries: Deliveries;
  readonly #resuming: Promise<void>;

  constructor(options: ApprovalsOptions) {
    const { store, ledger, clock = systemClock, webhooks = [], onError = () => {} } = options;
    this.#store = store;
    this.#clock = clock;
    this.#randomId = options.randomId ?? (() => randomBytes(16).toString("base64url"));
    this.#maxOpen = options.maxOpen ?? 256;
    this.grants = new Grants({ store, ledger, clock, randomId: this.#randomId, redact: options.redact });
    this.#feed = new Feed(store, onError);
    this.#steps = new Steps({ store, ledger, clock, webhooks, feed: this.#feed, redact: options.redact });
    this.#expiry = new Expiry(clock, () => this.expire(), onError);
    this.#deliveries = new Deliveries({ store, clock, webhooks, post: options.post, onError });
    this.#feed.subscribe(() => this.#deliveries.wake());
    this.#resuming = this.#resume().catch(onError);
  }

  /** Puts a question to people. The same question, still open, is not put twice; a yes that waits is given back. */
  async seek(request: ApprovalRequest): Promise<Approval> {
    await this.#feed.start();
    const asked = newApproval(request, `apr_${this.#randomId()}`, this.#clock.now());
    return this.#steps.untilFirst(async () => {
      const found = await this.#newest(asked.binding, asked.tenant);
      if (found && isOpen(found.approval) && !isOver(found.approval, this.#clock.now()))
        return this.#awaited(found.approval, asked.turn);
      if (found && isOpen(found.approval)) await this.#steps.end(found, "expired", whyOver(found));
      const notice = this.#steps.notice(asked.tenant);
      const ask = change(approvalTables, "ask", { approval: asked, max_open: this.#maxOpen, notice });
      const [entry] = await this.#steps.commit([askedDraft(asked)], [ask]);
      this.#expiry.arm(asked.expires_at);
      return { ...asked, entry };
    });
  }

  /** What is settled about an action already: by an answer, or by a grant. */
  async settled(request: ApprovalRequest): Promise<Settled | undefined> {
    await this.#feed.start();
    const [found, grant] = await Promise.all([
      this.#newest(bindingOf(request), request.subject.tenant),
      this.grants.grantFor(request),
    ]);
    const settled = settledBy(found?.approval, grant, request.turn, this.#clock.now());
    if (settled?.approval?.state === "approved")
      return { ...settled, change: this.useChange(settled.approval) };
    return settled?.grant ? { ...settled, change: this.grants.useChange(settled.grant) } : settled;
  }

  /**
   * Uses a yes. To be committed together with the verdict it lets through, whose entry carries {@link approvalTag}, and
   * then told by {@link announce}; the commit fails with a conflict when the yes is used, withdrawn or over.
   */
  useChange({ id, tenant }: Approval): Change<undefined> {
    return change(approvalTables, "use", { id, notice: this.#steps.notice(tenant) });
  }

  /** Tells subscribers of a use that was committed. */
  announce(): void {
    void this.#feed.announce();
  }

  /** Gives a person's answer, once. */
  async answer(id: string, given: GivenAnswer): Promise<Approval> {
    const { by, tenant, decision, note } = given;
    expectPerson(given, undefined);
    await this.expire();
    return this.#steps.untilFirst(async () => {
      const found = await this.#store.query(approvalTables, "get", { id, tenant });
      if (!found) throw new SupervisorError("not_found", `there is no approval ${id}`);
      expectPerson(given, found.approval);
      const at = this.#clock.now().toISOString();
      const answer: ApprovalAnswer = { by, decision, ...(note !== undefined && { note }), at };
      const approval = answered(found.approval, answer);
      const grant = isForAlways(approval)
        ? await this.grants.from(approval, given.grant_expires_ms)
        : undefined;
      const move = this.#steps.move(found, approval);
      const moved = change(approvalTables, "move", grant ? { ...move, grant } : move);
      await this.#steps.commit([answeredDraft(approval, answer, grant)], [moved]);
      return approval;
    });
  }

  /** Takes back what a cancelled turn or an ended session still waits for, or has not used; gives what was taken back. */
  async withdraw({ tenant, session, turn }: WithdrawnPart, reason: string): Promise<Approval[]> {
    await this.#feed.start();
    const open = await this.#store.query(approvalTables, "open", { tenant, session, turn });
    const ended = await Promise.all(open.map((found) => this.#steps.end(found, "withdrawn", reason)));
    return ended.flatMap((approval) => approval ?? []);
  }

  /** Ends what nobody answered, or used, in time; gives what has ended. */
  async expire(): Promise<Approval[]> {
    await this.#feed.start();
    const all: Approval[] = [];
    for (;;) {
      const now = this.#clock.now().toISOString();
      const over = await this.#store.query(approvalTables, "over", { now, limit: SWEEP });
      const ended = await Promise.all(over.map((found) => this.#steps.end(found, "expired", whyOver(found))));
      all.push(...ended.flatMap((approval) => approval ?? []));
      if (over.length < SWEEP) break;
    }
    const next = await this.#store.query(approvalTables, "nextOver", null);
    if (next !== undefined) this.#expiry.arm(next);
    return all;
  }

  /** An approval of a tenant. */
  async get(id: string, tenant: string): Promise<Approval | undefined> {
    await this.expire();
    return (await this.#store.query(approvalTables, "get", { id, tenant }))?.approval;
  }

  /** Approvals of a tenant, the oldest first unless asked otherwise. */
  async list(range: ApprovalRange): Promise<Approval[]> {
    await this.expire();
    return this.#store.query(approvalTables, "list", range);
  }

  /** Tells a listener of every change from now on, in order, once it is committed; the returned function ends that. */
  subscribe(listener: ApprovalListener): () => void {
    return this.#feed.subscribe(listener);
  }

  /** Changes after one that somebody saw last. */
  changes(range: ChangeRange): Promise<ApprovalChange[]> {
    return this.#store.query(approvalTables, "changes", range);
  }

  /** What waits to be sent to webhooks, and what was given up. */
  deliveries(range: DeliveryRange = {}): Promise<Delivery[]> {
    return this.#store.query(approvalTables, "deliveries", range);
  }

  /** Ends timers and sending. The store stays open; it is the caller's. */
  async close(): Promise<void> {
    await this.#resuming;
    await Promise.all([this.#expiry.close(), this.#feed.close(), this.#deliveries.close()]);
  }

  async #resume(): Promise<void> {
    await this.expire();
    await this.#deliveries.start();
  }

  #newest(binding: string, tenant: string): Promise<StoredApproval | undefined> {
    return this.#store.query(approvalTables, "newest", { binding, tenant });
  }

  /** An open approval, which the turn that asks again waits for from now on. */
  async #awaited(approval: Approval, turn: string | undefined): Promise<Approval> {
    if (turn === undefined || turn === approval.turn) return approval;
    await this.#store.commit([change(approvalTables, "wait", { id: approval.id, turn })], { durable: false });
    return { ...approval, turn };
  }
}

function whyOver({ approval: { state } }: StoredApproval): string {
  return state === "pending" ? "nobody answered in time" : "nobody used it in time";
}
