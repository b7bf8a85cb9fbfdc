import { CODE, RpcError } from "@reins/acp";
import type {
  ControlCall,
  ControlPort,
  DecisionEvents,
  DecisionEventType,
  ReportEvents,
  ReportEventType,
} from "@reins/agent";
import type { Harness, Principal, ReportKind } from "@reins/supervisor";
import { recordedSubject } from "../control/control-point.ts";
import { chargePrompt, enforce, forwardIn } from "../control/enforce.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
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
    if (type === "run_lifecycle" || type === "task_list" || type === "verification") {
      harness.runs.note(principal, type, noted).catch(fault);
      if (session) forwardIn(session, type, noted);
      return;
    }
    // A heartbeat is of the agent, and so of each of its sessions that has a turn.
    const reporting =
      type === "heartbeat" ? this.#options.governor().sessions.filter(({ turn }) => turn) : [session];
    for (const one of reporting) if (one) reportIn(one, type, noted).catch(fault);
  }

  async charge(
    usage: { readonly tokens: number; readonly cost?: number },
    call: Pick<ControlCall, "sessionId">,
  ): Promise<void> {
    const session = this.#sessionOf(call);
    if (session) await chargePrompt(session, usage);
  }

  /** What is decided about a request to a model; nothing where the defaults have a say. */
  async #decide(
    payload: Payload<"pre_prompt">,
    call: ControlCall,
  ): Promise<Decision<"pre_prompt"> | undefined> {
    if (call.sessionId === undefined) return undefined;
    const session = this.#sessionOf(call);
    if (!session) throw new RpcError(CODE.notFound, `there is no session ${call.sessionId}`);
    const enforced = await enforce(session, { kind: "prompt", payload, origin: "agent" }, call);
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

/** Keeps what an agent reports of itself in a session, and forwards it to other harnesses that list it. */
async function reportIn(session: GovernedSession, kind: ReportKind, payload: unknown): Promise<void> {
  forwardIn(session, kind, payload);
  const { harness, enforcement } = session.context;
  await harness.reports.note(recordedSubject(session, enforcement), kind, payload);
}
