import { type Hub, type SessionRecord, sessionTables, TurnQueue } from "@reins/host";
import { LruCache } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import type { SessionRequest } from "./open-session.ts";
import { HaakError, type HaakEvent, type NumberedEvent } from "./protocol.ts";
import type { HaakTurn } from "./turn.ts";

/** The state of a session of `/ws` in this process. */
export interface HaakSession {
  readonly id: string;
  readonly sequence: EventSequence;
  /** Runs one turn at a time; eight more wait. */
  readonly queue: TurnQueue;
  /** Running and waiting turns, oldest first. */
  readonly turns: Set<HaakTurn>;
  /** Whether its last turn was cancelled. */
  cancelled: boolean;
}

/** The sessions of `/ws` by key. */
export class HaakSessions {
  readonly #hub: Hub;
  readonly #harness: Pick<Harness, "store" | "ledger">;
  readonly #used = new Map<string, HaakSession>();

  constructor(hub: Hub, harness: Pick<Harness, "store" | "ledger">) {
    this.#hub = hub;
    this.#harness = harness;
  }

  /** Finds the session of a key. Throws if the principal may not see it. */
  async find(principal: Principal, key: string): Promise<SessionRecord | undefined> {
    const { tenant } = principal;
    const stored = await this.#harness.store.query(sessionTables, "byKey", { key, tenant });
    if (!stored) return undefined;
    const record = await this.#hub.find(principal, stored.id);
    if (record) return record;
    throw new HaakError("session_conflict", `the session "${key}" is another user's; choose another key`);
  }

  /** Returns the open session of a key. */
  async expect(principal: Principal, key: string): Promise<SessionRecord> {
    const record = await this.find(principal, key);
    if (!record)
      throw new HaakError("session_not_found", `there is no session "${key}"; begin it with session.init`);
    if (!record.ended) return record;
    throw new HaakError("session_closed", `the session "${key}" is closed; open it with session.init`);
  }

  /** Returns the state of a session, made on its first use. */
  async use({ id, tenant }: Pick<SessionRecord, "id" | "tenant">): Promise<HaakSession> {
    const used = this.#used.get(id);
    if (used) return used;
    const entries = await this.#harness.ledger.size();
    const messages = this.#hub.log.last(tenant);
    const session: HaakSession = this.#used.get(id) ?? {
      id,
      sequence: new EventSequence({ messages, entries }),
      queue: new TurnQueue(),
      turns: new Set(),
      cancelled: false,
    };
    this.#used.set(id, session);
    return session;
  }

  /** Returns the state of a session, if it was used. */
  used(id: string): HaakSession | undefined {
    return this.#used.get(id);
  }

  forget(id: string): void {
    this.#used.delete(id);
  }
}

/**
 * Numbers the events of a session. A restarted server starts above every number it ever gave: each event stands for a
 * log message or a ledger entry, and each of those for at most four events.
 */
export class EventSequence {
  #last: number;

  constructor(from: { readonly messages: number; readonly entries: number }) {
    this.#last = 4 * (from.messages + from.entries);
  }

  /** Continues above the numbers of another sequence. */
  follow(other: EventSequence): void {
    this.#last = Math.max(this.#last, other.#last);
  }

  number(event: HaakEvent): NumberedEvent {
    this.#last += 1;
    return { ...event, seq: this.#last };
  }
}

/** A session whose agent is not available yet. */
interface PendingSession {
  readonly request: SessionRequest;
  readonly sequence: EventSequence;
}

type Owner = Pick<Principal, "id" | "tenant">;

const MAX_PENDING = 1_000;

/** Sessions whose agent is not available; each turn retries. Each principal has its own. */
export class PendingSessions {
  readonly #pending = new LruCache<string, PendingSession>({ entries: MAX_PENDING });

  /** Adds a session, or replaces its request. */
  keep(principal: Owner, request: SessionRequest): void {
    const key = pendingKey(principal, request.session_key);
    const { sequence = new EventSequence({ messages: 0, entries: 0 }) } = this.#pending.get(key) ?? {};
    this.#pending.set(key, { request, sequence });
  }

  get(principal: Owner, key: string): PendingSession | undefined {
    return this.#pending.get(pendingKey(principal, key));
  }

  forget(principal: Owner, key: string): void {
    this.#pending.delete(pendingKey(principal, key));
  }
}

function pendingKey({ tenant, id }: Owner, key: string): string {
  return `${tenant}\n${key}\n${id}`;
}

/** The key of a session whose client names none: `<agent_id>:ws:<uuid>`, with the separators in the id escaped. */
export function derivedKey(agent: string, uuid: string): string {
  return `${agent.replace(/[:/%]/g, (mark) => encodeURIComponent(mark))}:ws:${uuid}`;
}

/** The key of a standing agent's own session. */
export function standingKey(agent: string): string {
  return `${agent}:cli:local`;
}
