import { availableParallelism, loadavg } from "node:os";
import type { Memory } from "@reins/bridge";
import { type Clock, systemClock } from "../../ports/clock.ts";
import type { ControlCall, ControlPort } from "../control-port.ts";
import type {
  AskedEvents,
  AskedEventType,
  IntentDetectionDecision,
  MemoryRecallDecision,
} from "../events.ts";
import type { ContextPerceptionDecision } from "../perception.ts";
import { decideConfirmation, PRESENCE, type Presence } from "./confirmation.ts";
import { decideIdle, IDLE_RULES, type IdleRules } from "./idle.ts";
import { detectIntent } from "./intent/detect-intent.ts";
import { perceive } from "./perception/perceive.ts";
import { FolderWorkspace, type MayRead } from "./perception/workspace.ts";
import { choosePlanning } from "./planning.ts";
import { decideRateLimit, PATIENCE, type Patience } from "./rate-limit.ts";
import { hintsFor } from "./reasoning.ts";

/** What the default decisions stand on; everything has a default of its own. */
export interface DefaultControlOptions {
  readonly memory?: Memory;
  /** The constitution in words, for hints. */
  readonly constitution?: () => string | Promise<string>;
  /** What of a workspace may be looked at, by folder and path, for whoever asks. */
  readonly mayRead?: (workspace: string, call: ControlCall) => MayRead;
  readonly presence?: Partial<Presence>;
  readonly patience?: Partial<Patience>;
  readonly idle?: Partial<IdleRules>;
  readonly clock?: Pick<Clock, "now">;
  /** The load of the machine for each processor. */
  readonly load?: () => number;
  /** Told what nobody waits for. */
  readonly onTold?: ControlPort["tell"];
}

type Deciders = {
  readonly [Type in AskedEventType]: (
    payload: AskedEvents[Type]["payload"],
    call: ControlCall,
  ) => AskedEvents[Type]["decision"] | Promise<AskedEvents[Type]["decision"]>;
};

/**
 * What an agent does when no operator says otherwise, one useful decision for each family. A host asks its own policy
 * about prompts; here they pass.
 */
export class DefaultControl implements ControlPort {
  readonly tell: ControlPort["tell"];
  readonly #deciders: Deciders;

  constructor(options: DefaultControlOptions = {}) {
    this.tell = options.onTold ?? (() => undefined);
    this.#deciders = decidersFrom(options);
  }

  async ask<Type extends AskedEventType>(
    type: Type,
    payload: AskedEvents[Type]["payload"],
    call: ControlCall,
  ): Promise<AskedEvents[Type]["decision"]> {
    return this.#deciders[type](payload, call);
  }

  /** There is no limit to count towards. */
  async charge(): Promise<void> {}
}

function decidersFrom({
  memory,
  constitution = () => "",
  mayRead,
  presence,
  patience,
  idle,
  clock = systemClock,
  load = systemLoad,
}: DefaultControlOptions): Deciders {
  return {
    pre_prompt: () => ({ decision: "allow" }),
    intent_detection: ({ prompt }): IntentDetectionDecision => {
      const { intent, confidence, target } = detectIntent(prompt);
      return { decision: "allow", detected_intent: intent, confidence, target_hints: target };
    },
    context_perception: async (payload, call): Promise<ContextPerceptionDecision> => {
      const { workspace } = payload.context;
      const folder = new FolderWorkspace(workspace, mayRead?.(workspace, call));
      return { decision: "allow", injected_context: await perceive(payload, folder) };
    },
    memory_recall: async ({ query, max_results, working_directory }): Promise<MemoryRecallDecision> => {
      const found = await memory?.recall({ query, limit: max_results, workspace: working_directory });
      const injected_facts = (found ?? []).map(({ content, source, confidence }) => ({
        content,
        source,
        confidence,
      }));
      return { decision: "allow", injected_facts };
    },
    planning: (payload) => choosePlanning(payload),
    reasoning: async (payload) => hintsFor(payload, await constitution()),
    rate_limit: (payload) => decideRateLimit(payload, { ...PATIENCE, ...patience }),
    confirmation: (payload) => decideConfirmation(payload, { ...PRESENCE, ...presence }),
    idle: (payload) => decideIdle(payload, { now: clock.now(), load: load() }, { ...IDLE_RULES, ...idle }),
  };
}

function systemLoad(): number {
  return (loadavg()[0] ?? 0) / availableParallelism();
}
