import type { JsonObject } from "@reins/acp";
import type { ToolGate } from "../control/tool-offer.ts";

/** A tool that a client brings along and carries out itself. */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  /** What it takes, as a JSON Schema. */
  readonly input_schema: JsonObject;
}

/** What came of a call that a client carried out. */
export interface ClientToolOutcome {
  readonly text: string;
  readonly isError: boolean;
}

/** What the client of one turn offers. */
export interface TurnOffer {
  /** The tools of the turn; without any the agent's own. */
  readonly tools: readonly ClientTool[] | undefined;
  /** Has the client carry a tool out. Aborts with the turn. */
  call(name: string, input: unknown, signal: AbortSignal): Promise<ClientToolOutcome>;
  /** Receives the verdict on each tool of the turn, before its agent gets the prompt. */
  gated?(gates: readonly ToolGate[]): void;
}

/** What a session's agent may use in the turn that is under way. */
interface Standing {
  /** The verdict on each tool: whether it may be used. */
  readonly gates: ReadonlyMap<string, boolean>;
  readonly offer: TurnOffer | undefined;
}

/** Sessions end without a word; of more than this, those that had no turn for longest are forgotten until their next. */
const MOST_STANDING = 10_000;

/** The tools of turns: what agents have, what clients bring along, and what of both a session may use now. */
export class TurnOffers {
  readonly #own = new Map<string, readonly OwnTool[]>();
  readonly #offers = new Map<string, TurnOffer>();
  readonly #standing = new Map<string, Standing>();

  /** Notes the tools that an agent has by itself. */
  declare(agent: string, tools: readonly OwnTool[]): void {
    this.#own.set(agent, tools);
  }

  /** The tools that an agent has by itself; none that are known for one that never said. */
  own(agent: string): readonly OwnTool[] {
    return this.#own.get(agent) ?? [];
  }

  /** Announces a turn by a name of its own, so that what its client offers is there when it begins. */
  announce(turn: string, offer: TurnOffer): () => void {
    this.#offers.set(turn, offer);
    return () => void this.#offers.delete(turn);
  }

  /** What the client of a turn offers, if it was announced. */
  offerOf(turn: unknown): TurnOffer | undefined {
    return typeof turn === "string" ? this.#offers.get(turn) : undefined;
  }

  /** Settles what a session may use from now on. */
  settle(session: string, gates: ReadonlyMap<string, boolean>, offer: TurnOffer | undefined): void {
    this.#standing.delete(session);
    this.#standing.set(session, { gates, offer });
    const [oldest] = this.#standing.size > MOST_STANDING ? this.#standing.keys() : [];
    if (oldest !== undefined) this.#standing.delete(oldest);
  }

  /** Whether a session may use a tool now; `undefined` when it was not decided. */
  mayUse(session: string, tool: string): boolean | undefined {
    const { gates, offer } = this.#standing.get(session) ?? {};
    return gates?.get(tool) ?? (offer?.tools ? false : undefined);
  }

  /** The tools that the client of a session carries out in this turn, as far as they may be used. */
  clientTools(session: string, agent: string): readonly ClientTool[] {
    const { gates, offer } = this.#standing.get(session) ?? {};
    const own = new Set(this.own(agent).map(({ name }) => name));
    return (offer?.tools ?? []).filter(({ name }) => !own.has(name) && gates?.get(name));
  }

  /** Has the client of a session carry a tool out. */
  call(session: string, name: string, input: unknown, signal: AbortSignal): Promise<ClientToolOutcome> {
    const offer = this.#standing.get(session)?.offer;
    if (offer) return offer.call(name, input, signal);
    return Promise.resolve({ text: "no client is there to run it", isError: true });
  }

  /** Forgets a session. */
  forget(session: string): void {
    this.#standing.delete(session);
  }
}

/** A tool that an agent has by itself. */
export interface OwnTool {
  readonly name: string;
  readonly description: string;
}
