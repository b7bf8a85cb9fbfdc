import { randomBytes, randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { NO_MAIL, type TurnMail } from "@reins/host";
import { type Clock, systemClock } from "@reins/kit";
import type { Ledger } from "@reins/ledger";
import { type Change, change, type Store, StoreError } from "@reins/store";
import { policyFiles, redact, type Subject } from "@reins/supervisor";
import {
  MAIL_LIMITS,
  type Mail,
  MailFile,
  type MailLimits,
  type Message,
  type OutgoingMessage,
  outgoingLine,
} from "./mail-file.ts";
import { SharedFileError } from "./shared-file.ts";
import { mailTables } from "./tables.ts";
import { fitting, type InjectedMessage, injectDraft, mailMessage } from "./turn-mail.ts";

/** What sending stands on. No database is needed, so any process can send. */
export interface OutboxOptions {
  readonly home: string;
  /** Whose agents write to each other here. */
  readonly tenant: string;
  readonly clock?: Pick<Clock, "now">;
  readonly newId?: () => string;
  readonly limits?: Partial<MailLimits>;
}

/** Where messages are sent from. */
export class Outbox {
  protected readonly file: MailFile;
  protected readonly limits: MailLimits;
  protected readonly clock: Pick<Clock, "now">;
  readonly #newId: () => string;

  constructor({ home, tenant, clock = systemClock, newId = randomUUID, limits }: OutboxOptions) {
    this.limits = { ...MAIL_LIMITS, ...limits };
    this.clock = clock;
    this.#newId = newId;
    const path = join(dirname(policyFiles(home, tenant).rules), "agent-mailbox.jsonl");
    this.file = new MailFile(path, this.limits);
  }

  /** Sends a message, durably. */
  async send(message: OutgoingMessage): Promise<void> {
    const stamp = { id: this.#newId(), timestamp: this.clock.now().toISOString() };
    await this.file.append(outgoingLine(message, stamp, this.limits));
  }
}

/** What a mailbox stands on. The store holds {@link mailTables}. */
export interface MailboxOptions extends OutboxOptions {
  readonly store: Pick<Store, "query" | "commit">;
  /** Takes secrets out of what is recorded. */
  readonly redact?: (value: unknown) => unknown;
  /** Makes a text that nobody can know beforehand. */
  readonly newBoundary?: (() => string) | undefined;
}

/** What was put into a turn. */
export interface Injection extends TurnMail {
  readonly messages: readonly InjectedMessage[];
  /** How many messages did not fit and wait for the next turn. */
  readonly waiting: number;
}

/** Each attempt that fails means that another process was first. */
const ATTEMPTS = 8;
const QUERY_SIZE = 1_000;

const NOTHING: Injection = { ...NO_MAIL, messages: [], waiting: 0 };

/** Makes mail unread again that was in a turn when Reins stopped. For the start, before any turn. */
export const giveCutOffMailBack: Change<undefined> = change(mailTables, "giveAllBack", {});

/**
 * The messages that agents send each other: HAAK's `agent-mailbox.jsonl`, to which other programs write too. What was
 * read stands in the store, so that it changes together with the ledger; a line that says `read: true` counts as well.
 */
export class Mailbox extends Outbox {
  readonly #store: Pick<Store, "query" | "commit">;
  readonly #tenant: string;
  readonly #redact: (value: unknown) => unknown;
  readonly #newBoundary: () => string;
  /** What agents are known to have read, so that the store is asked once. */
  readonly #read = new Map<string, Set<string>>();
  /** What is being chosen for a turn by this object right now. */
  readonly #choosing = new Map<string, Set<string>>();

  constructor(options: MailboxOptions) {
    super(options);
    this.#store = options.store;
    this.#tenant = options.tenant;
    this.#redact = options.redact ?? redact;
    this.#newBoundary = options.newBoundary ?? (() => randomBytes(16).toString("hex"));
  }

  /** Every message there is, whoever it is for. */
  async list(): Promise<readonly Message[]> {
    return (await this.file.read()).messages;
  }

  /** What is wrong with lines of the file, so that somebody can put it right. */
  async faults(): Promise<readonly string[]> {
    return (await this.file.read()).faults;
  }

  /** The messages to an agent that it has not read, oldest first. Marks none of them. */
  async unreadFor(agent: string): Promise<Message[]> {
    return this.#unreadAmong(await this.list(), agent);
  }

  /** The change that marks messages as read by an agent, for a commit. */
  markRead(agent: string, messages: readonly string[]): Change<undefined> {
    return change(mailTables, "mark", { ...this.#whose(agent), messages, at: this.#now() });
  }

  /**
   * Takes unread messages for a turn. Each is recorded and taken in one commit, so that none is in two turns at once, or
   * in one without a record, even if this process dies. They count as read once the turn has delivered them.
   */
  async injectUnread(subject: Subject, ledger: Pick<Ledger, "record">): Promise<Injection> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#inject(subject, ledger);
      } catch (error) {
        const anotherWasFirst = error instanceof StoreError && error.code === "conflict";
        if (!anotherWasFirst || attempt >= ATTEMPTS) throw error;
      }
    }
  }

  async #inject(subject: Subject, ledger: Pick<Ledger, "record">): Promise<Injection> {
    const { agent } = subject;
    const { messages: all, faults } = await this.#readable();
    if (all.length === 0) return { ...NOTHING, faults };
    const unread = await this.#unreadAmong(all, agent);
    const inTurns = await this.#among("takenAmong", agent, unread);
    // From here until they are taken nothing is waited for, so that no other turn chooses the same.
    const [choosing, read] = [setOf(this.#choosing, agent), setOf(this.#read, agent)];
    const free = unread.filter(({ id }) => !inTurns.has(id) && !choosing.has(id) && !read.has(id));
    const messages = fitting(free, this.limits);
    if (messages.length === 0) return { ...NOTHING, faults };
    const ids = messages.map(({ id }) => id);
    for (const id of ids) choosing.add(id);
    try {
      const marks = { ...this.#whose(agent), messages: ids, at: this.#now() };
      const { entries } = await ledger.record(
        messages.map((message) => injectDraft(subject, message, this.#redact)),
        { with: [change(mailTables, "take", marks)] },
      );
      const waiting = free.length - messages.length;
      const settle = (outcome: { readonly delivered: boolean }) => this.#settle(agent, ids, outcome);
      const text = mailMessage(messages, { boundary: this.#newBoundary(), waiting });
      return { text, messages, entries: entries.map(({ cid }) => cid), waiting, faults, settle };
    } finally {
      for (const id of ids) choosing.delete(id);
    }
  }

  /** A file that cannot be read does not end the turn. */
  async #readable(): Promise<Mail> {
    try {
      return await this.file.read();
    } catch (error) {
      if (!(error instanceof SharedFileError)) throw error;
      return { messages: [], faults: [error.message] };
    }
  }

  async #settle(
    agent: string,
    messages: readonly string[],
    { delivered }: { readonly delivered: boolean },
  ): Promise<void> {
    const end = delivered
      ? this.markRead(agent, messages)
      : change(mailTables, "giveBack", { ...this.#whose(agent), messages });
    await this.#store.commit([end]);
  }

  async #unreadAmong(messages: readonly Message[], agent: string): Promise<Message[]> {
    const unmarked = messages.filter(({ to, read }) => !read && to.includes(agent));
    if (unmarked.length === 0) return [];
    const read = await this.#readBy(agent, unmarked);
    return unmarked.filter(({ id }) => !read.has(id));
  }

  async #readBy(agent: string, messages: readonly Message[]): Promise<ReadonlySet<string>> {
    const read = setOf(this.#read, agent);
    const asked = messages.filter(({ id }) => !read.has(id));
    for (const id of await this.#among("readAmong", agent, asked)) read.add(id);
    return read;
  }

  async #among(
    query: "readAmong" | "takenAmong",
    agent: string,
    messages: readonly Message[],
  ): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (let start = 0; start < messages.length; start += QUERY_SIZE) {
      const ids = messages.slice(start, start + QUERY_SIZE).map(({ id }) => id);
      const page = { ...this.#whose(agent), messages: ids };
      for (const id of await this.#store.query(mailTables, query, page)) found.add(id);
    }
    return found;
  }

  #whose(agent: string): { mailbox: string; agent: string } {
    return { mailbox: this.#tenant, agent };
  }

  #now(): string {
    return this.clock.now().toISOString();
  }
}

function setOf(sets: Map<string, Set<string>>, name: string): Set<string> {
  const set = sets.get(name) ?? new Set();
  sets.set(name, set);
  return set;
}
