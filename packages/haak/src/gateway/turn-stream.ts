import { CODE, type JsonObject, membersOf } from "@reins/acp";
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

/** What a stream is made from. */
export interface TurnStreamOptions {
  readonly log: EventLog;
  readonly session: Pick<SessionRecord, "id" | "tenant">;
  /** Through whom the turn is asked for; nobody else asks through it. */
  readonly connection: Connection;
  readonly updates: UpdateEvents;
  readonly tail: LedgerTail;
  /** Settles when the entry of the last turn of the session that is over is in the ledger. */
  readonly recorded: () => Promise<void>;
  /** Settles when every verdict is in the ledger that was given by now. */
  readonly settled: () => Promise<void>;
  readonly emit: (event: HaakEvent) => void | Promise<void>;
  /** Told when the turn begins. */
  readonly onBegin: () => void;
}

/** What one reads nothing of in the ledger for. */
const SPOKEN: ReadonlySet<string> = new Set(["text_delta", "reasoning_delta"]);
const PERMISSION = "session/request_permission";

/**
 * The events of one turn, from the log and the ledger. Both are on disk before they are told. What other turns of the
 * same session say before it begins and after it has ended is not its own.
 */
export class TurnStream {
  readonly #options: TurnStreamOptions;
  #subscription: Subscription | undefined;
  #state: "waiting" | "running" | "over" = "waiting";
  /** The turns of others that were over before this one began. */
  readonly #earlier = new Set<unknown>();
  #hasRead = false;
  /** Verdicts on the turn's tools that have not been emitted. */
  #gates: HaakEvent[] = [];
  readonly #failure = Promise.withResolvers<never>();

  constructor(options: TurnStreamOptions) {
    this.#options = options;
    this.#failure.promise.catch(() => undefined);
  }

  /** Follows the session from now on. */
  async open(): Promise<void> {
    const { log, session, recorded, tail } = this.#options;
    const { tenant, id } = session;
    const from = await log.end(tenant);
    this.#subscription = log.subscribe(
      {
        tenant,
        event: (event) => this.#take(event),
        gap: () => undefined,
        failed: (error) => this.#failure.reject(error),
      },
      from,
    );
    for (const channel of [id, turnsOf(id)]) this.#subscription.add(channel, from.order);
    await recorded();
    await tail.toEnd();
  }

  /** Takes the verdicts on the turn's tools; they are emitted before anything else of it. */
  gated(gates: readonly ToolGate[]): void {
    this.#gates = gates.map(({ rule = null, ...gate }) => ({ type: "policy_gate", rule, ...gate }));
  }

  /** Whether the turn has begun. */
  get hasBegun(): boolean {
    return this.#state !== "waiting";
  }

  /** Settles when everything that was said by now has been told, with what the ledger has of the turn. */
  async drained(): Promise<void> {
    const { log, session } = this.#options;
    await log.written();
    const last = log.last(session.tenant);
    await Promise.race([this.#subscription?.reached(last), this.#failure.promise]);
    if (this.hasBegun) await this.#readLedger(true);
  }

  /** Follows it no more. */
  close(): void {
    this.#subscription?.close();
  }

  #take(event: LoggedEvent): void | Promise<void> {
    if (this.#state === "over") return;
    const { session, connection } = this.#options;
    if (event.session === turnsOf(session.id)) return this.#turnOver(event.message);
    // Agents may say a prompt again; only what a client sent has somebody it is not for.
    if (event.except !== undefined && isPrompt(event.message)) {
      if (event.except === connection.id) return this.#begin();
      if (this.#state === "running") this.#state = "over";
      return;
    }
    if (this.#state !== "running") return;
    if (event.request !== undefined) return this.#question(event.request, event.message);
    if (event.message.method !== "session/update") return;
    return this.#tell(this.#options.updates.take(membersOf(membersOf(event.message.params).update)));
  }

  #begin(): void {
    if (this.#state === "waiting") this.#options.onBegin();
    this.#state = "running";
  }

  /** Written when a turn is over and before the next one begins, so that whose it is follows from when it comes. */
  #turnOver({ method, params }: JsonObject): void {
    if (method !== TURN_OVER) return;
    const { turn } = membersOf(membersOf(membersOf(params).draft).payload);
    if (this.#state === "running") this.#state = "over";
    else this.#earlier.add(turn);
  }

  /** A question that only people answer waits for them elsewhere; what nobody here can answer is said to be so. */
  #question(key: string, { method, params }: JsonObject): void | Promise<void> {
    const { connection, updates } = this.#options;
    if (method === PERMISSION) return this.#tell(updates.call(membersOf(membersOf(params).toolCall)));
    connection.fail(questionId(key), {
      code: CODE.methodNotFound,
      message: `"${String(method)}" is not known here`,
    });
  }

  #tell(events: readonly HaakEvent[]): void | Promise<void> {
    if (events.length === 0) return;
    if (this.#hasRead && events.every(({ type }) => SPOKEN.has(type))) return this.#emit(events);
    const acts = events.some(({ type }) => !SPOKEN.has(type));
    return this.#readLedger(acts).then(() => this.#emit(events));
  }

  /** Tells what the ledger has that was not told. `acts`: whether a verdict may be on its way. */
  async #readLedger(acts: boolean): Promise<void> {
    const { tail, settled, recorded } = this.#options;
    if (acts || !this.#hasRead) await recorded();
    this.#hasRead = true;
    if (acts) await settled();
    await this.#emit(this.#gates.splice(0));
    for (const entry of await tail.more(this.#earlier)) await this.#emit(ledgerEvents(entry));
  }

  #emit(events: readonly HaakEvent[]): void | Promise<void> {
    let waiting: Promise<void> | undefined;
    for (const event of events) {
      const told = waiting ? waiting.then(() => this.#options.emit(event)) : this.#options.emit(event);
      waiting = told ?? undefined;
    }
    return waiting;
  }
}

function isPrompt({ method, params }: JsonObject): boolean {
  return (
    method === "session/update" && membersOf(membersOf(params).update).sessionUpdate === "user_message_chunk"
  );
}

const PAGE = 200;

/** The entries of one turn, as they are added: those of its session after the turn before it, up to its own. */
export class LedgerTail {
  readonly #ledger: Pick<Ledger, "read">;
  readonly #chain: string;
  #after = -1;
  #over = false;

  constructor(ledger: Pick<Ledger, "read">, chain: string) {
    this.#ledger = ledger;
    this.#chain = chain;
  }

  /** Begins where the chain ends now. */
  async toEnd(): Promise<void> {
    const [last] = await this.#ledger.read({ entity_id: this.#chain, order: "newest", limit: 1 });
    this.#after = last?.seq ?? -1;
  }

  /**
   * The entries that were added since. The one of the turn itself is the last; those of `earlier` turns, up to their own,
   * are left out.
   */
  async more(earlier: ReadonlySet<unknown>): Promise<readonly PlacedEntry["entry"][]> {
    let entries: PlacedEntry["entry"][] = [];
    while (!this.#over) {
      const page = await this.#ledger.read({ entity_id: this.#chain, after: this.#after, limit: PAGE });
      for (const { seq, entry } of page) {
        this.#after = seq;
        const isTurn = entry.quality === "turn";
        const isEarlier = isTurn && earlier.has(membersOf(entry.payload).turn);
        entries = isEarlier ? [] : [...entries, entry];
        this.#over = isTurn && !isEarlier;
        if (this.#over) break;
      }
      if (page.length < PAGE) break;
    }
    return entries;
  }
}
