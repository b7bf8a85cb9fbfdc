import type {
  AskedEvents,
  AskedEventType,
  ControlCall,
  ControlPort,
  ToldEvents,
  ToldEventType,
} from "@reins/agent";
import type { Harness } from "@reins/supervisor";
import type { Governor } from "../governor/governor.ts";

/** What a native agent's events are decided and noted with. */
export interface GovernedControlOptions {
  readonly governor: () => Governor;
  readonly harness: Harness;
  readonly tenant: string;
  /** Answers what no rule is about: what the person wants, what the workspace holds, how to plan. */
  readonly defaults: ControlPort;
  /** Told of what could not be noted. */
  readonly onFault: (reason: string) => void;
}

/**
 * The supervisor, for what only the native agent itself can see. Every request to a model is decided like any other
 * step; the contracts of its runs are kept; the rest has defaults that an operator can replace.
 */
export class GovernedControl implements ControlPort {
  readonly #options: GovernedControlOptions;

  constructor(options: GovernedControlOptions) {
    this.#options = options;
  }

  async ask<Type extends AskedEventType>(
    type: Type,
    payload: AskedEvents[Type]["payload"],
    call: ControlCall,
  ): Promise<AskedEvents[Type]["decision"]> {
    const { governor, defaults } = this.#options;
    if (type !== "pre_prompt" || call.sessionId === undefined) return defaults.ask(type, payload, call);
    const decided = await governor().decideFor(call.sessionId, type, payload, call.signal);
    if (decided.verdict === "allowed") return defaults.ask(type, payload, call);
    const refused: AskedEvents["pre_prompt"]["decision"] =
      decided.verdict === "modify"
        ? { decision: "modify", modified_payload: decided.modified_arguments }
        : { decision: "block", reason: decided.reason };
    return refused;
  }

  tell<Type extends ToldEventType>(
    type: Type,
    payload: ToldEvents[Type],
    call?: Pick<ControlCall, "sessionId">,
  ): void {
    const { harness, tenant, defaults, governor, onFault } = this.#options;
    defaults.tell(type, payload, call);
    if (type !== "run_lifecycle" && type !== "task_list" && type !== "verification") return;
    const session = call?.sessionId === undefined ? undefined : governor().sessionOf(call.sessionId);
    // A run of the agent is a turn of the governor's, and is known by that.
    const noted = session
      ? { ...payload, session_id: session.id, ...(session.turn && { run_id: session.turn.id }) }
      : payload;
    harness.runs
      .note(tenant, type, harness.redact(noted))
      .catch((error: unknown) => onFault(`${type}: ${String(error)}`));
  }
}
