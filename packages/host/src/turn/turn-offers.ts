import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject, reinsMeta } from "@reins/acp";
import { type Harness, type Subject, sessionKey } from "@reins/supervisor";
import { gateTools, offerDraft, type ToolGate } from "../control/tool-offer.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { OfferedTool } from "./preamble.ts";

/** A tool that a client offers for a turn and performs itself. */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  /** Its parameters, as a JSON Schema. */
  readonly input_schema: JsonObject;
}

/** The outcome of a call that a client performed. */
export interface ClientToolOutcome {
  readonly text: string;
  readonly isError: boolean;
}

/** What the client of one turn offers. */
export interface TurnOffer {
  /** The tools of the turn; without any the agent's own. */
  readonly tools: readonly ClientTool[] | undefined;
  /** Calls a tool of the client. Aborts with the turn. */
  call(name: string, input: unknown, signal: AbortSignal): Promise<ClientToolOutcome>;
  /** Receives the verdict on each tool of the turn, before its agent gets the prompt. */
  gated?(gates: readonly ToolGate[]): void;
}

/** A tool that an agent has by itself. */
export interface OwnTool {
  readonly name: string;
  readonly description: string;
}

/** The tools of a turn after the policy's verdict on each. */
interface GatedTools {
  /** The agent's own tools that it may see; absent where they are not known. */
  readonly tools: readonly OfferedTool[] | undefined;
  /** What was recorded for it. */
  readonly entries: readonly string[];
}

/** What a session's agent may use in its current turn. */
interface SessionTools {
  /** Whether each tool may be used. */
  readonly gates: ReadonlyMap<string, boolean>;
  readonly offer: TurnOffer | undefined;
}

interface LastOffer {
  /** The payload of its entry, without the time. */
  readonly payload: JsonObject;
  readonly tools: readonly OfferedTool[] | undefined;
}

/** Sessions end without notice; of more than this, those that had no turn for longest are forgotten until their next. */
const MOST_SESSIONS = 10_000;

/** The tools of turns: what agents have, what clients offer, and what of both a session may use now. */
export class TurnOffers {
  readonly #harness: Pick<Harness, "supervisor" | "policies" | "ledger">;
  readonly #now: () => Date;
  readonly #own = new Map<string, readonly OwnTool[]>();
  /** The tools that agents have by themselves, as far as they are known, by agent. */
  readonly own: ReadonlyMap<string, readonly OwnTool[]> = this.#own;
  readonly #announced = new Map<string, TurnOffer>();
  readonly #sessions = new Map<string, SessionTools>();
  /** The last recorded offer of each session. */
  readonly #recorded = new WeakMap<GovernedSession, LastOffer>();

  constructor(harness: Pick<Harness, "supervisor" | "policies" | "ledger">, now = () => new Date()) {
    this.#harness = harness;
    this.#now = now;
  }

  /** Notes the tools that an agent has by itself. */
  declare(agent: string, tools: readonly OwnTool[]): void {
    this.#own.set(agent, tools);
  }

  /** Announces a turn by a name of its own, so that what its client offers is there when it begins. */
  announce(turn: string, offer: TurnOffer): () => void {
    this.#announced.set(turn, offer);
    return () => void this.#announced.delete(turn);
  }

  /**
   * Decides which tools the model of a turn is offered; `undefined` where none are known. A blocked tool is withheld. The
   * ledger gets one entry with all of them, when a session begins and whenever the offer or the policy changes.
   */
  gate(session: GovernedSession, subject: Subject, params: JsonObject): Promise<GatedTools> | undefined {
    const { agent } = session.record;
    const own = this.#own.get(agent) ?? [];
    const { turn } = reinsMeta(params);
    const offer = turn === undefined ? undefined : this.#announced.get(turn);
    const offered: readonly OfferedTool[] = offer?.tools ?? own;
    return offered.length === 0 ? undefined : this.#gate(session, subject, { agent, own, offer, offered });
  }

  async #gate(
    session: GovernedSession,
    subject: Subject,
    {
      agent,
      own,
      offer,
      offered,
    }: {
      readonly agent: string;
      readonly own: readonly OwnTool[];
      readonly offer: TurnOffer | undefined;
      readonly offered: readonly OfferedTool[];
    },
  ): Promise<GatedTools> {
    const withheld = own.length > 0 ? undefined : `${agent} brings its own tools`;
    const names = offered.map(({ name }) => name);
    const gates = gateTools(this.#harness, subject, { tools: names, withheld });
    const isOffered = new Map(gates.map(({ tool, verdict }) => [tool, verdict !== "blocked"]));
    const left = own.length > 0 ? offered.filter(({ name }) => isOffered.get(name)) : undefined;
    const { tools, entries } = await this.#record(session, subject, gates, left);
    this.#settle(session.id, { gates: isOffered, offer });
    offer?.gated?.(gates);
    return { tools, entries };
  }

  /** Records an offer that is not the session's last one; that may have been made before a restart. */
  async #record(
    session: GovernedSession,
    subject: Subject,
    gates: readonly ToolGate[],
    tools: readonly OfferedTool[] | undefined,
  ): Promise<GatedTools> {
    const { ledger } = this.#harness;
    const draft = offerDraft(this.#harness, subject, gates);
    const last = this.#recorded.get(session);
    const before = last || session.isNew ? last?.payload : await this.#lastRecorded(subject);
    if (isDeepStrictEqual(before, draft.payload)) {
      // The same list, so that the preamble made from it is the same too.
      const known = last && isDeepStrictEqual(last.tools, tools) ? last.tools : tools;
      this.#recorded.set(session, { payload: draft.payload, tools: known });
      return { tools: known, entries: [] };
    }
    const payload = { ...draft.payload, at: this.#now().getTime() };
    const { turn } = session;
    // A model request of an agent with tools of its own is decided next, whose commit makes this entry durable too.
    const isDeferred = tools !== undefined && turn !== undefined;
    const how = { durable: tools === undefined, relaxed: isDeferred };
    const recording = ledger.record([{ ...draft, payload }], how).then(({ entries }) => {
      this.#recorded.set(session, { payload: draft.payload, tools });
      return entries.map(({ cid }) => cid);
    });
    if (!isDeferred) return { tools, entries: await recording };
    const written = recording.then(([cid]) => {
      if (cid !== undefined) turn.entries.push(cid);
      return cid;
    });
    turn.defer(written.catch(() => undefined));
    return { tools, entries: [] };
  }

  async #lastRecorded(subject: Subject): Promise<unknown> {
    const range = { entity_id: sessionKey(subject), tag: "tool_offer", order: "newest", limit: 1 } as const;
    const [last] = await this.#harness.ledger.read(range);
    const payload = last?.entry.payload;
    if (!isObject(payload)) return undefined;
    const { at: _, ...rest } = payload;
    return rest;
  }

  /** Settles what a session may use from now on. */
  #settle(session: string, tools: SessionTools): void {
    this.#sessions.delete(session);
    this.#sessions.set(session, tools);
    const [oldest] = this.#sessions.size > MOST_SESSIONS ? this.#sessions.keys() : [];
    if (oldest !== undefined) this.#sessions.delete(oldest);
  }

  /** Whether a session may use a tool now; `undefined` when it was not decided. */
  mayUse(session: string, tool: string): boolean | undefined {
    const { gates, offer } = this.#sessions.get(session) ?? {};
    return gates?.get(tool) ?? (offer?.tools ? false : undefined);
  }

  /** The tools that the client of a session performs in this turn, as far as they may be used. */
  clientTools(session: string, agent: string): readonly ClientTool[] {
    const { gates, offer } = this.#sessions.get(session) ?? {};
    const own = new Set((this.#own.get(agent) ?? []).map(({ name }) => name));
    return (offer?.tools ?? []).filter(({ name }) => !own.has(name) && gates?.get(name));
  }

  /** Calls a tool of the client of a session. */
  call(session: string, name: string, input: unknown, signal: AbortSignal): Promise<ClientToolOutcome> {
    const offer = this.#sessions.get(session)?.offer;
    if (offer) return offer.call(name, input, signal);
    return Promise.resolve({ text: "no client is there to run it", isError: true });
  }

  /** Forgets a session. */
  forget(session: string): void {
    this.#sessions.delete(session);
  }
}
