import { randomUUID } from "node:crypto";
import type { Memory } from "@reins/bridge";
import { type Clock, systemClock } from "@reins/kit";
import { Advisor } from "./advisor/advisor.ts";
import type { DecisionEvents, DecisionEventType, ReportEvents, ReportEventType } from "./control/events.ts";
import type { TokenUsage } from "./history/entry.ts";
import { type SessionStore, VolatileSessionStore } from "./history/session-store.ts";
import { type Models, modelsFrom } from "./models/models.ts";
import type { HostServices } from "./tools/host-services.ts";
import { type CommandRunner, SystemCommands } from "./tools/run-command.ts";
import { TOOL_SEARCH_DEFAULTS, type ToolSearchSettings } from "./tools/tool-search.ts";
import { TURN_LIMITS, type TurnLimits } from "./turn/turn.ts";

/** Dependencies of the native agent. */
export interface AgentDependencies {
  /** Stores sessions. */
  readonly store: SessionStore;
  readonly models: Models;
  /** Decides what only the agent can see. */
  readonly control: ControlPort;
  /** Mail, board and subagents of the host. */
  readonly services: HostServices;
  readonly memory: Memory | undefined;
  readonly commands: CommandRunner;
  /** Whether a session may use a tool. A tool that it may not use is never offered to the model. */
  readonly mayUse: (tool: string, sessionId: string) => boolean | Promise<boolean>;
  /** How tools are kept out of prompts and found. */
  readonly toolSearch: ToolSearchSettings;
  readonly limits: TurnLimits;
  /** Text that follows the agent's system prompt, read for every turn of a session. */
  readonly instructions: (sessionId: string) => string | undefined;
  readonly clock: Clock;
  /** A number from 0 to 1. */
  readonly random: () => number;
  readonly newId: () => string;
  /** Reports an unexpected error that does not stop the agent. */
  readonly onFault: (fault: unknown) => void;
}

/** Options of the native agent; every dependency has a default. */
export type NativeAgentOptions = Partial<Omit<AgentDependencies, "limits" | "toolSearch">> & {
  readonly limits?: Partial<TurnLimits>;
  readonly toolSearch?: Partial<ToolSearchSettings>;
};

/** Fills in the defaults. */
export function dependenciesFrom({ limits, toolSearch, ...given }: NativeAgentOptions): AgentDependencies {
  const { memory } = given;
  return {
    store: new VolatileSessionStore(),
    models: modelsFrom({}),
    control: new Advisor(memory ? { memory } : {}),
    services: {},
    memory: undefined,
    commands: new SystemCommands(),
    mayUse: () => true,
    instructions: () => undefined,
    clock: systemClock,
    random: Math.random,
    newId: randomUUID,
    onFault: () => undefined,
    ...given,
    toolSearch: { ...TOOL_SEARCH_DEFAULTS, ...toolSearch },
    limits: { ...TURN_LIMITS, ...limits },
  };
}

/** Context of a control event. */
export interface ControlCall {
  /** The agent's id of the session; absent for events of all sessions. */
  readonly sessionId?: string;
  /** Aborts when the decision is no longer needed. */
  readonly signal: AbortSignal;
}

/** What a model request used: all its tokens, what they cost where the price is known, and the tokens by kind. */
export interface ChargedUsage {
  readonly tokens: number;
  readonly cost?: number;
  readonly kinds?: TokenUsage;
}

/**
 * Decides control events that only the agent can see, in AHP's terms. The agent obeys: a blocked step is not done, a
 * modified one is done as modified, and a missing decision blocks.
 */
export interface ControlPort {
  ask<Type extends DecisionEventType>(
    type: Type,
    payload: DecisionEvents[Type]["payload"],
    call: ControlCall,
  ): Promise<DecisionEvents[Type]["decision"]>;
  report<Type extends ReportEventType>(
    type: Type,
    payload: ReportEvents[Type],
    call?: Pick<ControlCall, "sessionId">,
  ): void;
  /** Charges the tokens of a model request to limits, before the next request is decided. */
  charge(usage: ChargedUsage, call: Pick<ControlCall, "sessionId">): Promise<void>;
}
