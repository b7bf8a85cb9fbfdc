import { CODE, type JsonObject, membersOf, updateIn } from "@reins/acp";
import {
  type Connection,
  type EventLog,
  type LoggedEvent,
  questionId,
  type SessionRecord,
  type Subscription,
  type ToolGate,
  TURN_OVER,
  turnsOf,
} from "@reins/host";
import type { Ledger, PlacedEntry } from "@reins/ledger";
import type { HaakEvent } from "./protocol.ts";
import { ledgerEvents, type UpdateEvents } from "./turn-events.ts";

type LogSubscription = Pick<Subscription, "add" | "reached" | "close">;

/** The part of the event log that a stream uses. */
interface FollowedLog extends Pick<EventLog, "end" | "written" | "last"> {
  subscribe(...args: Parameters<EventLog["subscribe"]>): LogSubscription;
}

export interface TurnStreamOptions {
  readonly log: FollowedLog;
  readonly session: Pick<SessionRecord, "id" | "tenant">;
  /** The connection that prompts; this turn is its only one. */
  readonly connection: Pick<Connection, "id" | "fail">;
  readonly updates: UpdateEvents;
  readonly tail: LedgerTail;
  /** Resolves when the entry of the session's last ended turn is in the ledger. */
  readonly recorded: () => Promise<void>;
  /** Resolves when every verdict so far is in the ledger. */
  readonly settled: () => Promise<void>;
  readonly emit: (event: HaakEvent) => void | Promise<void>;
  readonly onBegin: () => void;
}

/** Events that no ledger entry comes before. */
const SPOKEN: ReadonlySet<string> = new Set(["text_delta", "reasoning_delta"]);
const PERMISSION = "session/request_permission";

/**
 * Emits the events of one turn from the event log and the ledger, each after it is on disk. Leaves out what other turns
 * of the session say before and after it.
 */
export class TurnStream {
  readonly #options: TurnStreamOptions;
  #subscription: LogSubscription | undefined;
  #state: "waiting" | "running" | "over" = "waiting";
  /** Turns that ended before this one began. */
  readonly #earlier = new Set<unknown>();
  #hasReadLedger = false;
  /** Verdicts on the turn's tools that have not been emitted. */
  #gates: HaakEvent[] = [];
  readonly #failure = Promise.withResolvers<never>();

  constructor(options: TurnStreamOptions) {
    this.#options = options;
    this.#failure.promise.catch(() => undefined);
  }

  /** Subscribes to the session from now on. */
  async open(): Promise<void> {
    const { log, session, recorded, tail } = this.#options;
    const { tenant, id } = session;
    const from = await log.end(tenant);
    this.#subscription = log.subscribe(
      {
        tenant,
        event: (event) => this.#onEvent(event),
        gap: () => undefined,
        failed: (error) => this.#failure.reject(error),
      },
      from,
    );
    for (const channel of [id, turnsOf(id)]) this.#subscription.add(channel, from.order);
    await recorded();
    await tail.seekEnd();
  }

  /** Holds the verdicts on the turn's tools, which come before every other event. */
  gated(gates: readonly ToolGate[]): void {
    this.#gates = gates.map(({ rule = null, ...gate }) => ({ type: "policy_gate", rule, ...gate }));
  }

  /** Resolves when everything logged so far is emitted, with the turn's ledger entries. */
  async drained(): Promise<void> {
    const { log, session } = this.#options;
    await log.written();
    const last = log.last(session.tenant);
    await Promise.race([this.#subscription?.reached(last), this.#failure.promise]);
    if (this.#state !== "waiting") await this.#emitLedger(true);
  }

  /** Unsubscribes. */
  close(): void {
    this.#subscription?.close();
  }

  #onEvent(event: LoggedEvent): void | Promise<void> {
    if (this.#state === "over") return;
    const { session, connection, updates } = this.#options;
    if (event.session === turnsOf(session.id)) return this.#onTurnOver(event.message);
    const { method, params } = event.message;
    const { kind, update } = updateIn(method === "session/update" ? params : undefined);
    // Agents may repeat a prompt; only one that a client sent excludes a receiver.
    if (event.except !== undefined && kind === "user_message_chunk") {
      if (event.except === connection.id) this.#begin();
      else if (this.#state === "running") this.#state = "over";
      return;
    }
    if (this.#state !== "running") return;
    if (event.request !== undefined) return this.#onRequest(event.request, event.message);
    if (method === "session/update") return this.#emitAfterLedger(updates.ofUpdate(update));
  }

  #begin(): void {
    if (this.#state === "waiting") this.#options.onBegin();
    this.#state = "running";
  }

  /** The mark is logged after a turn and before the next, so that its position identifies the turn. */
  #onTurnOver({ method, params }: JsonObject): void {
    if (method !== TURN_OVER) return;
    const { turn } = membersOf(membersOf(membersOf(params).draft).payload);
    if (this.#state === "running") this.#state = "over";
    else this.#earlier.add(turn);
  }

  /** A permission request is answered by a person elsewhere; every other request fails here. */
  #onRequest(key: string, { method, params }: JsonObject): void | Promise<void> {
    const { connection, updates } = this.#options;
    if (method === PERMISSION)
      return this.#emitAfterLedger(updates.ofToolCall(membersOf(membersOf(params).toolCall)));
    connection.fail(questionId(key), {
      code: CODE.methodNotFound,
      message: `"${String(method)}" is not known here`,
    });
  }

  #emitAfterLedger(events: readonly HaakEvent[]): void | Promise<void> {
    if (events.length === 0) return;
    const isSpoken = events.every(({ type }) => SPOKEN.has(type));
    if (this.#hasReadLedger && isSpoken) return this.#emit(events);
    return this.#emitLedger(!isSpoken).then(() => this.#emit(events));
  }

  /** Emits new ledger entries. `acts`: waits for verdicts that are not yet written. */
  async #emitLedger(acts: boolean): Promise<void> {
    const { tail, settled, recorded } = this.#options;
    if (acts || !this.#hasReadLedger) await recorded();
    this.#hasReadLedger = true;
    if (acts) await settled();
    await this.#emit(this.#gates.splice(0));
    for (const entry of await tail.read(this.#earlier)) await this.#emit(ledgerEvents(entry));
  }

  #emit(events: readonly HaakEvent[]): void | Promise<void> {
    const { emit } = this.#options;
    let last: Promise<void> | undefined;
    for (const event of events) last = (last ? last.then(() => emit(event)) : emit(event)) ?? undefined;
    return last;
  }
}

const PAGE = 200;

/** Reads the ledger entries of one turn as they are appended: after the turn before it, up to its own entry. */
export class LedgerTail {
  readonly #ledger: Pick<Ledger, "read">;
  readonly #chain: string;
  #after = -1;
  #isOver = false;

  constructor(ledger: Pick<Ledger, "read">, chain: string) {
    this.#ledger = ledger;
    this.#chain = chain;
  }

  /** Skips every entry so far. */
  async seekEnd(): Promise<void> {
    const [last] = await this.#ledger.read({ entity_id: this.#chain, order: "newest", limit: 1 });
    this.#after = last?.seq ?? -1;
  }

  /** Returns new entries up to the turn's own, without those of `earlier` turns. */
  async read(earlier: ReadonlySet<unknown>): Promise<readonly PlacedEntry["entry"][]> {
    let entries: PlacedEntry["entry"][] = [];
    while (!this.#isOver) {
      const page = await this.#ledger.read({ entity_id: this.#chain, after: this.#after, limit: PAGE });
      for (const { seq, entry } of page) {
        this.#after = seq;
        const isTurn = entry.quality === "turn";
        const isEarlier = isTurn && earlier.has(membersOf(entry.payload).turn);
        entries = isEarlier ? [] : [...entries, entry];
        this.#isOver = isTurn && !isEarlier;
        if (this.#isOver) break;
      }
      if (page.length < PAGE) break;
    }
    return entries;
  }
}
