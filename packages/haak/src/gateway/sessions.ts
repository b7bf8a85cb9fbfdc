import { type Hub, type SessionRecord, sessionTables, TurnQueue } from "@reins/host";
import type { Clock } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import type { SessionWish } from "./open-session.ts";
import { HaakError, type HaakEvent, type NumberedEvent } from "./protocol.ts";
import type { HaakTurn } from "./turn.ts";

/** A session that a client of `/ws` uses, as far as only this process knows it. */
export interface HaakSession {
  readonly id: string;
  readonly sequence: Sequence;
  /** One turn at a time, eight more in line. */
  readonly queue: TurnQueue;
  /** Its turns that run or wait, in the order in which they came. */
  readonly turns: Set<HaakTurn>;
  /** Whether its last turn was cancelled. */
  cancelled: boolean;
}

/** What sessions stand on. */
export interface HaakSessionsOptions {
  readonly hub: Hub;
  readonly harness: Harness;
  readonly clock: Clock;
}

/** The sessions of `/ws`, by their keys. */
export class HaakSessions {
  readonly #options: HaakSessionsOptions;
  readonly #known = new Map<string, HaakSession>();

  constructor(options: HaakSessionsOptions) {
    this.#options = options;
  }

  /** The session of a key, if the principal may see it. */
  async find(principal: Principal, key: string): Promise<SessionRecord | undefined> {
    const { hub, harness } = this.#options;
    const { tenant } = principal;
    const kept = await harness.store.query(sessionTables, "byKey", { key, tenant });
    if (!kept) return undefined;
    const record = await hub.find(principal, kept.id);
    if (record) return record;
    throw new HaakError("session_conflict", `the session "${key}" is somebody else's; choose another key`);
  }

  /** The session of a key that is open. */
  async expect(principal: Principal, key: string): Promise<SessionRecord> {
    const record = await this.find(principal, key);
    if (!record)
      throw new HaakError("session_not_found", `there is no session "${key}"; begin it with session.init`);
    if (!record.ended) return record;
    throw new HaakError("session_closed", `the session "${key}" is closed; open it with session.init`);
  }

  /** What is known here of a session. */
  async of({ id, tenant }: Pick<SessionRecord, "id" | "tenant">): Promise<HaakSession> {
    const known = this.#known.get(id);
    if (known) return known;
    const { hub, harness } = this.#options;
    const entries = await harness.ledger.size();
    const messages = hub.log.last(tenant);
    const session: HaakSession = this.#known.get(id) ?? {
      id,
      sequence: new Sequence({ messages, entries }),
      queue: new TurnQueue(),
      turns: new Set(),
      cancelled: false,
    };
    this.#known.set(id, session);
    return session;
  }

  /** What is known here of a session, if it was used. */
  known(id: string): HaakSession | undefined {
    return this.#known.get(id);
  }

  /** Forgets a session that has ended. */
  forget(id: string): void {
    this.#known.delete(id);
  }
}

/** A session whose agent cannot be had yet. */
interface PendingSession {
  readonly wish: SessionWish;
  readonly sequence: Sequence;
}

/** More of them are not kept in mind; the oldest make room. */
const MOST = 1_000;

/** Sessions whose agent cannot be had; each turn tries again. What nobody has begun yet is each principal's own. */
export class PendingSessions {
  readonly #pending = new Map<string, PendingSession>();

  /** Keeps a session in mind, as it was wished for last. */
  keep(principal: Principal, wish: SessionWish): void {
    const place = placeOf(principal, wish.session_key);
    const { sequence } = this.#pending.get(place) ?? { sequence: new Sequence({ messages: 0, entries: 0 }) };
    this.#pending.set(place, { wish, sequence });
    const [oldest] = this.#pending.size > MOST ? this.#pending.keys() : [];
    if (oldest !== undefined) this.#pending.delete(oldest);
  }

  /** The session of a key, if it waits for its agent. */
  get(principal: Principal, key: string): PendingSession | undefined {
    return this.#pending.get(placeOf(principal, key));
  }

  /** Keeps it in mind no more; whether it was. */
  forget(principal: Principal, key: string): boolean {
    return this.#pending.delete(placeOf(principal, key));
  }
}

function placeOf({ tenant, id }: Principal, key: string): string {
  return `${tenant}\n${key}\n${id}`;
}

/**
 * Numbers the events of a session. A server that starts begins above all numbers it ever gave: an event stands for a
 * message of the log or an entry of the ledger, and neither for more than four.
 */
export class Sequence {
  #last: number;

  constructor(from: { readonly messages: number; readonly entries: number }) {
    this.#last = 4 * (from.messages + from.entries);
  }

  /** Begins above whatever another one has given. */
  follow(other: Sequence): void {
    this.#last = Math.max(this.#last, other.#last);
  }

  /** Gives an event its number. */
  number(event: HaakEvent): NumberedEvent {
    this.#last += 1;
    return { ...event, seq: this.#last };
  }
}

/** The key of a session whose client gives none: `<agent_id>:ws:<uuid>`. What would divide it otherwise is escaped. */
export function derivedKey(agent: string, uuid: string): string {
  return `${agent.replace(/[:/%]/g, (mark) => encodeURIComponent(mark))}:ws:${uuid}`;
}

/** The key of the session that a standing agent has from the beginning. */
export function standingKey(agent: string): string {
  return `${agent}:cli:local`;
}
