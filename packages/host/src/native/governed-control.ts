import { CODE, RpcError } from "@reins/acp";
import type {
  ChargedUsage,
  ControlCall,
  ControlPort,
  DecisionEvents,
  DecisionEventType,
  ReportEvents,
  ReportEventType,
} from "@reins/agent";
import { whyUnpriced } from "@reins/gateway";
import { raceAbort } from "@reins/kit";
import { type Harness, type Principal, type ReportKind, readReport } from "@reins/supervisor";
import { type AdviceEventType, recordedSubject } from "../control/control-point.ts";
import { enforce } from "../control/enforce.ts";
import { chargePrompt, forwardIn, hasHarnesses } from "../control/outcome.ts";
import type { StandingVerdicts } from "../control/standing-verdicts.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { Governor } from "../governor/governor.ts";
import { type Advisers, advisersFrom } from "./advisers.ts";

/** What a native agent's events are decided and noted with. */
export interface GovernedControlOptions {
  readonly governor: () => Governor;
  readonly harness: Harness;
  /** The verdicts that stand in its sessions. */
  readonly standing: StandingVerdicts;
  readonly principal: Principal;
  /** Answers what no rule and no other harness is about: what the person wants, what the workspace holds, how to plan. */
  readonly defaults: ControlPort;
  /** Whether it is known what a model costs, by its id. */
  readonly isPriced: (model: string) => boolean;
  /** Receives what could not be recorded. */
  readonly onFault: (reason: string) => void;
}

type Decision<Type extends DecisionEventType> = DecisionEvents[Type]["decision"];
type Payload<Type extends DecisionEventType> = DecisionEvents[Type]["payload"];
type Deciders = {
  readonly [Type in DecisionEventType]: (
    payload: Payload<Type>,
    call: ControlCall,
  ) => Promise<Decision<Type> | undefined>;
};

/** The answers to requests for advice that the policy does not allow: none is given. */
const NO_ADVICE: { readonly [Type in AdviceEventType]: (reason: string) => Decision<Type> } = {
  intent_detection: () => ({ decision: "allow", detected_intent: "conversation", confidence: 0 }),
  context_perception: (reason) => ({ decision: "block", reason }),
  memory_recall: (reason) => ({ decision: "block", reason }),
  planning: (reason) => ({ decision: "block", reason }),
  reasoning: (reason) => ({ decision: "block", reason }),
};

/**
 * The supervisor, for what only the native agent itself can see. Every request to a model is decided like any other
 * step; what is more than a verdict is answered by a harness of the operator's that says it does so, or by a default;
 * the contracts of runs are kept.
 */
export class GovernedControl implements ControlPort {
  readonly #options: GovernedControlOptions;
  readonly #deciders: Deciders;

  constructor(options: GovernedControlOptions) {
    this.#options = options;
    const advisers: Advisers = advisersFrom(options.harness, options.principal.tenant);
    const decided =
      <Type extends AdviceEventType>(type: Type) =>
      async (payload: Payload<Type>, call: ControlCall): Promise<Decision<Type> | undefined> =>
        (await this.#withheld(type, payload, call)) ?? advisers[type](payload);
    this.#deciders = {
      ...advisers,
      intent_detection: decided("intent_detection"),
      context_perception: decided("context_perception"),
      memory_recall: decided("memory_recall"),
      planning: decided("planning"),
      reasoning: decided("reasoning"),
      pre_prompt: (payload, call) => this.#decide(payload, call),
    };
  }

  async ask<Type extends DecisionEventType>(
    type: Type,
    payload: Payload<Type>,
    call: ControlCall,
  ): Promise<Decision<Type>> {
    const session_id = this.#sessionOf(call)?.id;
    const named = session_id !== undefined && "session_id" in payload ? { ...payload, session_id } : payload;
    const decision = await this.#deciders[type](named, call);
    return decision ?? this.#options.defaults.ask(type, payload, call);
  }

  report<Type extends ReportEventType>(
    type: Type,
    payload: ReportEvents[Type],
    call?: Pick<ControlCall, "sessionId">,
  ): void {
    const { harness, principal, defaults, onFault } = this.#options;
    defaults.report(type, payload, call);
    const session = this.#sessionOf(call ?? {});
    // The next start finds the run of a turn that was cut off, as after the end of the process.
    if (session?.isCut) return;
    // A run of the agent is a turn of the governor's, and is known by that.
    const noted = {
      ...payload,
      ...(session && "session_id" in payload && { session_id: session.id }),
      ...(session?.turn && "run_id" in payload && { run_id: session.turn.id }),
    };
    const fault = (error: unknown) => onFault(`${type}: ${String(error)}`);
    if (type === "run_lifecycle" || type === "task_list" || type === "verification") {
      const isNew = session?.turn !== undefined && "status" in payload && payload.status === "created";
      const note = async () =>
        harness.runs.note(principal, type, readReport(type, noted), { isNew, isOwn: true, relaxed: true });
      note().catch(fault);
      if (session) forwardIn(session, type, noted);
      return;
    }
    // A heartbeat is of the agent, and so of each of its sessions that has a turn.
    const reporting =
      type === "heartbeat" ? this.#options.governor().sessions.filter(({ turn }) => turn) : [session];
    for (const one of reporting) if (one) reportIn(one, type, noted).catch(fault);
  }

  async charge({ kinds, ...usage }: ChargedUsage, call: Pick<ControlCall, "sessionId">): Promise<void> {
    const session = this.#sessionOf(call);
    if (!session) return;
    // What the gateway counts is charged there.
    if (session.context.isMetered) await chargePrompt(session, {});
    else await chargePrompt(session, usage, { tokens: kinds });
  }

  /** What is decided about a request to a model; nothing where the defaults have a say. */
  async #decide(
    payload: Payload<"pre_prompt">,
    call: ControlCall,
  ): Promise<Decision<"pre_prompt"> | undefined> {
    const session = this.#expectSession(call);
    if (!session) return undefined;
    // Reins is stopping, and about to cancel the agent's turn: nothing of it is recorded any more.
    if (session.isCut) await raceAbort(new Promise<never>(() => undefined), call.signal);
    // What passes the gateway is priced there.
    const { model } = payload;
    const isPriced = session.context.isMetered || this.#options.isPriced(model);
    const reserves = isPriced ? {} : { reserves: { unpriced: whyUnpriced(model) } };
    const enforced = await enforce(session, { kind: "prompt", payload, origin: "agent", ...reserves }, call);
    // What was gathered for the request is in the ledger before it, and so on the disk, if it is there at all.
    if (enforced.kind !== "refused" && session.turn && !(await session.turn.isDecided()))
      return { decision: "block", reason: "the verdict on a part of the request could not be written" };
    switch (enforced.kind) {
      case "allowed":
        return undefined;
      case "modified":
        return { decision: "modify", modified_payload: enforced.arguments };
      case "refused":
        return { decision: "block", reason: enforced.reason };
    }
  }

  /** The answer to a request for advice that the policy does not allow; nothing where it does. */
  async #withheld<Type extends AdviceEventType>(
    event_type: Type,
    payload: Payload<Type>,
    call: ControlCall,
  ): Promise<Decision<Type> | undefined> {
    const session = this.#expectSession(call);
    if (!session) return undefined;
    const point = { kind: "advice", event_type, payload } as const;
    const { isAllowed, reason, written } = await this.#options.standing.enforce(session, point, "advice");
    if (!isAllowed) return NO_ADVICE[event_type](reason);
    // A harness that the policy names only since then is sent nothing before the verdict is on the disk.
    if (written && hasHarnesses(session.context)) await this.#options.harness.store.commit([]);
    return undefined;
  }

  /** The session of a call; nothing for a call outside of all sessions. */
  #expectSession(call: ControlCall): GovernedSession | undefined {
    const session = this.#sessionOf(call);
    if (!session && call.sessionId !== undefined)
      throw new RpcError(CODE.notFound, `there is no session ${call.sessionId}`);
    return session;
  }

  #sessionOf({ sessionId }: Pick<ControlCall, "sessionId">) {
    return sessionId === undefined ? undefined : this.#options.governor().sessionOf(sessionId);
  }
}

/** Keeps what an agent reports of itself in a session, and forwards it to other harnesses that list it. */
async function reportIn(session: GovernedSession, kind: ReportKind, payload: unknown): Promise<void> {
  forwardIn(session, kind, payload);
  const { harness, enforcement } = session.context;
  await harness.reports.note(recordedSubject(session, enforcement), kind, payload);
}
