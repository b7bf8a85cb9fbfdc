import type { Harness, Subject } from "@reins/supervisor";
import { membersOf } from "../acp/message.ts";
import type { PreparedTurn, TurnPreparation } from "../governor/context.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { OfferedTool } from "../turn/preamble.ts";
import { gateDraft, gateTools, type ToolGate } from "./tool-gate.ts";
import type { TurnOffers } from "./turn-offers.ts";

/** What gating stands on. */
export interface GatedPreparationOptions {
  readonly harness: Harness;
  readonly offers: TurnOffers;
  /** What is put before the prompt afterwards; it is told which tools are left. */
  readonly next: (
    toolsOf: (session: GovernedSession) => readonly OfferedTool[] | undefined,
  ) => TurnPreparation;
  readonly now: () => Date;
}

/**
 * Gates the tools of every turn before its agent sees the prompt: each gets a verdict that is on the record, and what is
 * blocked is offered to no model.
 */
export class GatedPreparation implements TurnPreparation {
  readonly #options: GatedPreparationOptions;
  readonly #next: TurnPreparation;
  readonly #shown = new WeakMap<GovernedSession, readonly OfferedTool[]>();

  constructor(options: GatedPreparationOptions) {
    this.#options = options;
    this.#next = options.next((session) => this.#shown.get(session));
  }

  async compose(
    session: GovernedSession,
    subject: Subject,
    prompt: readonly unknown[],
    more: Parameters<TurnPreparation["compose"]>[3],
  ): Promise<PreparedTurn> {
    const { offers } = this.#options;
    const offer = offers.offerOf(membersOf(membersOf(more.params._meta).reins).turn);
    const own = offers.own(session.record.agent);
    const tools: readonly OfferedTool[] = offer?.tools ?? own;
    if (tools.length === 0) return this.#next.compose(session, subject, prompt, more);
    const asked = gateTools(
      this.#options.harness,
      subject,
      tools.map(({ name }) => name),
    );
    const gates = own.length > 0 ? asked : asked.map((gate) => withoutPlace(gate, session.record.agent));
    // An agent that has tools of its own has its next request to a model decided, which puts these on the disk as well.
    const entries = await this.#record(subject, gates, own.length === 0);
    const verdicts = new Map(gates.map(({ tool, verdict }) => [tool, verdict !== "blocked"]));
    offers.settle(session.id, verdicts, offer);
    if (own.length > 0)
      this.#shown.set(
        session,
        tools.filter(({ name }) => verdicts.get(name)),
      );
    const composed = await this.#next.compose(session, subject, prompt, more);
    return { ...composed, entries: [...entries, ...composed.entries] };
  }

  async #record(subject: Subject, gates: readonly ToolGate[], durable: boolean): Promise<readonly string[]> {
    const { harness, now } = this.#options;
    const at = now();
    const drafts = gates.map((gate) => gateDraft(harness, subject, gate, at));
    const { entries } = await harness.ledger.record(drafts, { durable });
    return entries.map(({ cid }) => cid);
  }
}

/** A tool that the policy would let pass, for an agent that takes none from others. */
function withoutPlace(gate: ToolGate, agent: string): ToolGate {
  if (gate.verdict === "blocked") return gate;
  return { ...gate, verdict: "blocked", rule: undefined, reason: `${agent} brings its own tools` };
}
