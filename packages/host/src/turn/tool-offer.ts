import { reinsMeta } from "@reins/acp";
import type { Harness, Subject } from "@reins/supervisor";
import { gateTools, offerDraft, type ToolGate } from "../control/tool-offer.ts";
import type { PreparedTurn, TurnPreparation } from "../governor/context.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { OfferedTool } from "./preamble.ts";
import type { TurnOffers } from "./turn-offers.ts";

/** What {@link ToolOfferPreparation} needs. */
export interface ToolOfferOptions {
  readonly harness: Harness;
  readonly offers: TurnOffers;
  /** Prepares the rest of the turn with the tools that are left. */
  readonly next: (
    toolsOf: (session: GovernedSession) => readonly OfferedTool[] | undefined,
  ) => TurnPreparation;
  readonly now: () => Date;
}

/**
 * Decides before each turn which tools its model is offered. A blocked tool is withheld. The ledger gets one entry with
 * all of them, when a session begins and whenever the offer or the policy changes.
 */
export class ToolOfferPreparation implements TurnPreparation {
  readonly #options: ToolOfferOptions;
  readonly #next: TurnPreparation;
  readonly #offered = new WeakMap<GovernedSession, readonly OfferedTool[]>();
  /** The last recorded offer of each session, without its time. */
  readonly #recorded = new WeakMap<GovernedSession, string>();

  constructor(options: ToolOfferOptions) {
    this.#options = options;
    this.#next = options.next((session) => this.#offered.get(session));
  }

  async compose(
    session: GovernedSession,
    subject: Subject,
    prompt: readonly unknown[],
    more: Parameters<TurnPreparation["compose"]>[3],
  ): Promise<PreparedTurn> {
    const { offers } = this.#options;
    const offer = offers.offerOf(reinsMeta(more.params).turn);
    const own = offers.own(session.record.agent);
    const tools: readonly OfferedTool[] = offer?.tools ?? own;
    if (tools.length === 0) return this.#next.compose(session, subject, prompt, more);
    const withheld = own.length > 0 ? undefined : `${session.record.agent} brings its own tools`;
    const gates = gateTools(this.#options.harness, subject, {
      tools: tools.map(({ name }) => name),
      withheld,
    });
    // A model request of an agent with tools of its own is decided next, whose commit makes this entry durable too.
    const entries = await this.#record(session, subject, gates, own.length === 0);
    const isOffered = new Map(gates.map(({ tool, verdict }) => [tool, verdict !== "blocked"]));
    offers.settle(session.id, isOffered, offer);
    offer?.gated?.(gates);
    if (own.length > 0)
      this.#offered.set(
        session,
        tools.filter(({ name }) => isOffered.get(name)),
      );
    const composed = await this.#next.compose(session, subject, prompt, more);
    return { ...composed, entries: [...entries, ...composed.entries] };
  }

  async #record(
    session: GovernedSession,
    subject: Subject,
    gates: readonly ToolGate[],
    durable: boolean,
  ): Promise<readonly string[]> {
    const { harness, now } = this.#options;
    const draft = offerDraft(harness, subject, gates);
    const key = JSON.stringify(draft);
    if (this.#recorded.get(session) === key) return [];
    const payload = { ...draft.payload, at: now().getTime() };
    const { entries } = await harness.ledger.record([{ ...draft, payload }], { durable });
    this.#recorded.set(session, key);
    return entries.map(({ cid }) => cid);
  }
}
