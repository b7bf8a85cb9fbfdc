import { randomBytes } from "node:crypto";
import { type Clock, systemClock } from "@reins/kit";
import type { Ledger } from "@reins/ledger";
import { type Change, change, type Store } from "@reins/store";
import { SupervisorError } from "../errors.ts";
import { type Commitment, withoutSecrets } from "../record/record.ts";
import type { Vault } from "../record/vault.ts";
import { knownRedactor, type Redactor } from "../redaction/redactor.ts";
import { type Answerer, expectMayAnswer, expectPerson } from "./answerer.ts";
import { answered, answeredDraft, askedDraft, isForAlways, type Settled, settledBy } from "./answers.ts";
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalChange,
  type ApprovalOption,
  type Delivery,
  isOpen,
  isOver,
} from "./approval.ts";
import { AtRest } from "./at-rest.ts";
import { type ApprovalListener, Expiry, Feed, Steps } from "./feed.ts";
import { Grants } from "./grants.ts";
import {
  type ApprovalRequest,
  bindingOf,
  expectPrefix,
  factsHash,
  type Keyed,
  newApproval,
} from "./request.ts";
import {
  type ApprovalRange,
  approvalTables,
  type ChangeRange,
  type DeliveryRange,
  type StoredApproval,
} from "./tables.ts";
import { Deliveries, type Post, type Webhook } from "./webhooks/lane.ts";

export type { Approval } from "./approval.ts";

export interface ApprovalsOptions {
  readonly store: Store;
  readonly ledger: Ledger;
  /** Seals what has to be shown exactly to the person who answers. */
  readonly vault: Vault;
  /** Makes keyed bindings, from which the content cannot be guessed. */
  readonly commitment: Pick<Commitment, "digest">;
  readonly clock?: Clock;
  /** Makes the unguessable part of an id. */
  readonly randomId?: () => string;
  readonly webhooks?: readonly Webhook[];
  /** Sends to a webhook. */
  readonly post?: Post;
  /** How many deliveries may wait for one webhook; the oldest beyond are given up. */
  readonly maxDeliveries?: number;
  /** How many approvals of one session may be open at once. */
  readonly maxOpen?: number;
  /** Removes secrets from what is recorded; by default those of known formats. */
  readonly redactor?: Redactor;
  /** Called with errors in the background: a listener that threw, a sweep that could not be written. */
  readonly onError?: (error: unknown) => void;
}

/** A person's answer. */
export interface GivenAnswer extends Answerer {
  readonly decision: ApprovalOption;
  readonly note?: string | undefined;
  /** For an "always": the beginning of the command, after which anything may follow in the same folder. */
  readonly prefix?: readonly string[] | undefined;
  /** How long an "always" lasts at most, whatever others of the quorum say; by default until it is revoked. */
  readonly grant_expires_ms?: number | undefined;
}

/** The approvals of a turn that was cancelled, or of a session that ended. */
export interface WithdrawnPart {
  readonly tenant: string;
  readonly session: string;
  readonly turn?: string | undefined;
  /** Only this user's, where agents name their sessions themselves, so that two users may have one of the same name. */
  readonly user?: string | undefined;
}

const SWEEP = 100;

/**
 * Questions to people, which cannot get lost: every step of one is a single commit of the approval, the ledger entry
 * that records it, the event for subscribers and the deliveries to webhooks.
 */
export class Approvals {
  readonly grants: Grants;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #randomId: () => string;
  readonly #maxOpen: number;
  readonly #keyed: Keyed;
  readonly #vault: Vault;
  readonly #atRest: AtRest;
  readonly #onError: (error: unknown) => void;
  readonly #feed: Feed;
  readonly #steps: Steps;
  readonly #expiry: Expiry;
  readonly #deliveries: Deliveries;
  readonly #resuming: Promise<void>;
  readonly #unwatch: (() => void) | undefined;

  constructor(options: ApprovalsOptions) {
    const { store, ledger, clock = systemClock, webhooks = [], onError = () => {} } = options;
    this.#store = store;
    this.#clock = clock;
    this.#randomId = options.randomId ?? (() => randomBytes(16).toString("base64url"));
    this.#maxOpen = options.maxOpen ?? 256;
    this.#keyed = options.commitment;
    const { redactor = knownRedactor() } = options;
    const redact = (value: unknown) => redactor.value(value);
    const parts = { store, ledger, clock, redact };
    this.#vault = options.vault;
    this.#onError = onError;
    const atRest = new AtRest({ vault: options.vault, keyed: this.#keyed, redactor });
    this.#atRest = atRest;
    this.grants = new Grants({ ...parts, keyed: this.#keyed, atRest, randomId: this.#randomId });
    this.#feed = new Feed(store, atRest, onError);
    this.#steps = new Steps({ ...parts, webhooks, feed: this.#feed });
    this.#expiry = new Expiry(clock, () => this.expire(), onError);
    const { post, maxDeliveries: maxWaiting } = options;
    this.#deliveries = new Deliveries({ store, clock, webhooks, post, maxWaiting, onError });
    this.#feed.subscribe(() => this.#deliveries.wake());
    this.#unwatch = store.watch?.(approvalTables, () => this.announce());
    this.#resuming = this.#resume().catch(onError);
  }

  /** Puts a question to people. The same question, still open, is not put twice; a yes that waits is given back. */
  async seek(request: ApprovalRequest): Promise<Approval> {
    await this.#feed.start();
    const binding = bindingOf(request, this.#keyed);
    const asked = newApproval(request, { id: `apr_${this.#randomId()}`, binding, now: this.#clock.now() });
    return this.#steps.untilFirst(async () => {
      const found = await this.#newest(binding, asked.tenant);
      const open = found && isOpen(found.approval) ? await this.#stillOpen(found) : undefined;
      return open ? this.#awaited(open, asked.turn) : this.#ask(asked);
    });
  }

  /** What is settled about an action already: by an answer, or by a grant. */
  async settled(request: ApprovalRequest): Promise<Settled | undefined> {
    await this.#feed.start();
    const [found, grant] = await Promise.all([
      this.#newest(bindingOf(request, this.#keyed), request.subject.tenant),
      this.grants.grantFor(request),
    ]);
    const settled = settledBy(found?.approval, grant, request.turn, this.#clock.now());
    if (settled?.approval?.state === "approved")
      return { ...settled, change: this.useChange(settled.approval) };
    return settled?.grant ? { ...settled, change: this.grants.useChange(settled.grant) } : settled;
  }

  /**
   * Uses a yes. To be committed together with the verdict that it allows, whose entry carries {@link approvalTag}, and
   * then published with {@link announce}; the commit fails with a conflict when the yes is used, withdrawn or over.
   */
  useChange({ id, tenant }: Approval): Change<undefined> {
    return change(approvalTables, "use", { id, notice: this.#steps.notice(tenant) });
  }

  /** Notifies subscribers of a use that was committed. */
  announce(): void {
    void this.#feed.announce();
  }

  /** Gives a person's answer, once. */
  async answer(id: string, given: GivenAnswer): Promise<Approval> {
    const { by, tenant, decision, note, grant_expires_ms, prefix } = given;
    expectPerson(given);
    await this.expire();
    return this.#steps.untilFirst(async () => {
      const found = await this.#store.query(approvalTables, "get", { id, tenant });
      if (!found) throw new SupervisorError("not_found", `there is no approval ${id}`);
      expectMayAnswer(given, found.approval, decision);
      const shown = this.#atRest.readApproval(found);
      const at = this.#clock.now().toISOString();
      const said = note === undefined ? {} : { note: String(this.#atRest.redactFor(shown.facts)(note)) };
      const lasts = decision === "allow_always" && grant_expires_ms !== undefined && { grant_expires_ms };
      const begins = decision === "allow_always" && prefix !== undefined && { prefix };
      if (begins) expectPrefix(shown, begins.prefix);
      const answer: ApprovalAnswer = { by, decision, ...said, at, ...lasts, ...begins };
      if (decision !== "deny") expectReadable(shown);
      const approval = answered(shown, answer);
      const grant = isForAlways(approval) ? await this.grants.from(approval) : undefined;
      const move = this.#steps.move(found, approval);
      const moved = change(
        approvalTables,
        "move",
        grant ? { ...move, grant: this.grants.kept(grant) } : move,
      );
      const isReadable = approval.unreadable === undefined;
      const facts_hash = isReadable ? factsHash(approval.facts, this.#keyed) : undefined;
      await this.#steps.commit([answeredDraft(approval, answer, { facts_hash, grant })], [moved]);
      return approval;
    });
  }

  /** Takes back what a cancelled turn or an ended session still waits for, or has not used; gives what was taken back. */
  async withdraw({ tenant, session, turn, user }: WithdrawnPart, reason: string): Promise<Approval[]> {
    await this.#feed.start();
    const open = await this.#store.query(approvalTables, "open", { tenant, session, turn });
    const own = open.filter(({ approval }) => user === undefined || approval.user === user);
    const ended = await Promise.all(own.map((found) => this.#steps.end(found, "withdrawn", reason)));
    return ended.flatMap((approval) => approval ?? []);
  }

  /** Takes back one question that is answered by another. */
  async withdrawOne(id: string, tenant: string, reason: string): Promise<void> {
    const found = await this.#store.query(approvalTables, "get", { id, tenant });
    if (found) await this.#steps.end(found, "withdrawn", reason);
  }

  /** Ends approvals that were not answered, or used, in time; returns them. */
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

  /** Forgets what ended before an instant, and counts for nothing any more; the ledger keeps its entries. */
  async prune(before: Date): Promise<number> {
    const args = { before: before.toISOString(), limit: SWEEP };
    for (let all = 0; ; ) {
      const [pruned] = await this.#store.commit([change(approvalTables, "prune", args)], { durable: false });
      all += pruned;
      if (pruned < SWEEP) return all;
    }
  }

  /** An approval of a tenant. */
  async get(id: string, tenant: string): Promise<Approval | undefined> {
    await this.expire();
    const found = await this.#store.query(approvalTables, "get", { id, tenant });
    return found && this.#atRest.readApproval(found);
  }

  /** Approvals of a tenant, the oldest first unless asked otherwise. */
  async list(range: ApprovalRange): Promise<Approval[]> {
    await this.expire();
    const found = await this.#store.query(approvalTables, "list", range);
    return found.map((stored) => this.#atRest.readApproval(stored));
  }

  /** Notifies a listener of every change from now on, in order, once it is committed; returns `unsubscribe`. */
  subscribe(listener: ApprovalListener): () => void {
    return this.#feed.subscribe(listener);
  }

  /** Changes after a position. */
  async changes(range: ChangeRange): Promise<ApprovalChange[]> {
    const found = await this.#store.query(approvalTables, "changes", range);
    return found.map((change) => this.#atRest.readChange(change));
  }

  /** What waits to be sent to webhooks, and what was given up. */
  deliveries(range: DeliveryRange = {}): Promise<Delivery[]> {
    return this.#store.query(approvalTables, "deliveries", range);
  }

  /** Ends timers and sending. The store stays open; it is the caller's. */
  async close(): Promise<void> {
    this.#unwatch?.();
    await this.#resuming;
    await Promise.all([this.#expiry.close(), this.#feed.close(), this.#deliveries.close()]);
  }

  async #resume(): Promise<void> {
    await this.expire();
    await this.#deliveries.start();
    await this.#reportUnreadable();
  }

  /** Reports missing keys at start, before a person tries to answer. */
  async #reportUnreadable(): Promise<void> {
    for (const { key, count } of await this.#store.query(approvalTables, "sealedWith", null))
      if (key !== this.#vault.keyId)
        this.#onError(
          this.#vault.otherKey(key, `${count} approvals and grants, which do not count therefore`),
        );
  }

  #newest(binding: string, tenant: string): Promise<StoredApproval | undefined> {
    return this.#store.query(approvalTables, "newest", { binding, tenant });
  }

  async #ask(asked: Omit<Approval, "entry">): Promise<Approval> {
    const notice = this.#steps.notice(asked.tenant);
    const { id, tenant, session, turn, binding, state, expires_at } = asked;
    const found = { id, tenant, session, ...(turn !== undefined && { turn }), binding, state, expires_at };
    const form = this.#atRest.approval(asked);
    const ask = change(approvalTables, "ask", { approval: found, form, max_open: this.#maxOpen, notice });
    const draft = withoutSecrets(
      askedDraft(asked, factsHash(asked.facts, this.#keyed)),
      this.#atRest.redactFor(asked.facts),
    );
    const [entry] = await this.#steps.commit([draft], [ask]);
    this.#expiry.arm(expires_at);
    return { ...asked, entry };
  }

  /** An open approval, unless it has expired or cannot be unsealed: then it is ended. */
  async #stillOpen(found: StoredApproval): Promise<Approval | undefined> {
    const approval = this.#atRest.readApproval(found);
    if (isOver(approval, this.#clock.now())) await this.#steps.end(found, "expired", whyOver(found));
    else if (approval.unreadable === undefined) return approval;
    else await this.#steps.end(found, "withdrawn", `what it asks cannot be read: ${approval.unreadable}`);
    return undefined;
  }

  /** An open approval, which the turn that asks again waits for from now on. */
  async #awaited(approval: Approval, turn: string | undefined): Promise<Approval> {
    if (turn === undefined || turn === approval.turn) return approval;
    await this.#store.commit([change(approvalTables, "wait", { id: approval.id, turn })], { durable: false });
    return { ...approval, turn };
  }
}

/** Refuses a yes to what cannot be shown exactly. */
function expectReadable({ id, unreadable }: Approval): void {
  if (unreadable === undefined) return;
  throw new SupervisorError("conflict", `the approval ${id} can only be denied: ${unreadable}`);
}

function whyOver({ approval: { state } }: StoredApproval): string {
  return state === "pending" ? "not answered in time" : "not used in time";
}
