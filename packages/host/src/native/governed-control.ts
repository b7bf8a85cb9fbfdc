import type {
  ControlCall,
  ControlPort,
  DecisionEvents,
  DecisionEventType,
  ReportEvents,
  ReportEventType,
} from "@reins/agent";
import type { Harness, Principal } from "@reins/supervisor";
import type { Governor } from "../governor/governor.ts";
import { type Advisers, advisersFrom } from "./advisers.ts";

/** What a native agent's events are decided and noted with. */
export interface GovernedControlOptions {
  readonly governor: () => Governor;
  readonly harness: Harness;
  readonly principal: Principal;
  /** Answers what no rule and no other harness is about: what the person wants, what the workspace holds, how to plan. */
  readonly defaults: ControlPort;
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
    this.#deciders = { ...advisers, pre_prompt: (payload, call) => this.#decide(payload, call) };
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
    const noted = harness.redact({
      ...payload,
      ...(session && "session_id" in payload && { session_id: session.id }),
      ...(session?.turn && "run_id" in payload && { run_id: session.turn.id }),
    });
    const fault = (error: unknown) => onFault(`${type}: ${String(error)}`);
    const governor = this.#options.governor();
    const sessionId = call?.sessionId;
    if (type === "run_lifecycle" || type === "task_list" || type === "verification") {
      harness.runs.note(principal, type, noted).catch(fault);
      if (sessionId !== undefined) governor.forward(sessionId, type, noted);
    } else if (type === "heartbeat") governor.heartbeat(noted);
    else if (sessionId !== undefined) governor.report(sessionId, type, noted).catch(fault);
  }

  async charge(
    usage: { readonly tokens: number; readonly cost?: number },
    { sessionId }: Pick<ControlCall, "sessionId">,
  ): Promise<void> {
    if (sessionId !== undefined) await this.#options.governor().charge(sessionId, usage);
  }

  /** What is decided about a request to a model; nothing where the defaults have a say. */
  async #decide(
    payload: Payload<"pre_prompt">,
    { sessionId, signal }: ControlCall,
  ): Promise<Decision<"pre_prompt"> | undefined> {
    if (sessionId === undefined) return undefined;
    const enforced = await this.#options.governor().enforcePrompt(sessionId, payload, signal);
    switch (enforced.kind) {
      case "allowed":
        return undefined;
      case "modified":
        return { decision: "modify", modified_payload: enforced.arguments };
      case "refused":
        return { decision: "block", reason: enforced.reason };
    }
  }

  #sessionOf({ sessionId }: Pick<ControlCall, "sessionId">) {
    return sessionId === undefined ? undefined : this.#options.governor().sessionOf(sessionId);
  }
}
