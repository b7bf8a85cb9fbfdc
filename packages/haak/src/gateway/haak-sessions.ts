import { type Hub, type SessionRecord, sessionTables, TurnQueue } from "@reins/host";
import type { Clock } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import { HaakError } from "./haak-error.ts";
import type { HaakTurn } from "./haak-turn.ts";
import { Sequence } from "./sequence.ts";

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
