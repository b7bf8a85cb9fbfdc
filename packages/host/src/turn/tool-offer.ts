import { membersOf } from "@reins/acp";
import type { Draft } from "@reins/ledger";
import { type Harness, type Subject, sessionKey } from "@reins/supervisor";
import type { PreparedTurn, TurnPreparation } from "../governor/context.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { OfferedTool } from "./preamble.ts";
import type { TurnOffers } from "./turn-offers.ts";

/** The policy's verdict on offering one tool to a model. */
export interface ToolGate {
  readonly tool: string;
  /** `ask`: the tool is offered, and each call waits for a person. */
  readonly verdict: string;
  readonly rule: string | undefined;
  readonly reason: string;
  readonly constitution_hash: string | null;
}

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
    const offer = offers.offerOf(membersOf(membersOf(more.params._meta).reins).turn);
    const own = offers.own(session.record.agent);
    const tools: readonly OfferedTool[] = offer?.tools ?? own;
    if (tools.length === 0) return this.#next.compose(session, subject, prompt, more);
    const decided = tools.map(({ name }) => this.#gate(subject, name));
    const gates = own.length > 0 ? decided : decided.map((gate) => foreignTool(gate, session.record.agent));
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

  #gate(subject: Subject, tool: string): ToolGate {
    const { supervisor, policies } = this.#options.harness;
    const constitution_hash = policies.policyFor(subject.tenant)?.hashes.constitution_hash ?? null;
    const outlook = supervisor.outlook(tool, subject);
    if (!outlook)
      return { tool, verdict: "blocked", rule: undefined, reason: "no policy is loaded", constitution_hash };
    const { verdict, rule, reason } = outlook;
    return { tool, verdict, rule, reason, constitution_hash };
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

/** The entry of an offer. It has no facts, because nothing is done by it. */
function offerDraft(
  { policies }: Pick<Harness, "policies">,
  subject: Subject,
  gates: readonly ToolGate[],
): Draft & { readonly payload: Readonly<Record<string, unknown>> } {
  const hashes = policies.policyFor(subject.tenant)?.hashes;
  const offered = gates.filter(({ verdict }) => verdict !== "blocked");
  const withheld = gates.filter(({ verdict }) => verdict === "blocked");
  const verdict = withheld.length === 0 ? "allowed" : offered.length === 0 ? "blocked" : "modify";
  return {
    quality: "policy_verdict",
    actor: subject.agent,
    target: "tools",
    entity_id: sessionKey(subject),
    tags: ["tool_offer", verdict],
    payload: {
      event_type: "tool_offer",
      verdict,
      reason:
        withheld.length === 0
          ? "every tool is offered"
          : `withheld: ${withheld.map(({ tool }) => tool).join(", ")}`,
      rule: null,
      offered: offered.map(({ tool, verdict, rule }) => ({ tool, verdict, rule: rule ?? null })),
      withheld: withheld.map(({ tool, rule, reason }) => ({ tool, rule: rule ?? null, reason })),
      enforcement: subject.enforcement,
      constitution_hash: hashes?.constitution_hash ?? null,
      rules_hash: hashes?.rules_hash ?? null,
      trust: subject.trust,
      facts: null,
      counters: {},
    },
  };
}

/** The verdict on a client's tool for an agent that accepts no tools of others. */
function foreignTool(gate: ToolGate, agent: string): ToolGate {
  if (gate.verdict === "blocked") return gate;
  return { ...gate, verdict: "blocked", rule: undefined, reason: `${agent} brings its own tools` };
}
