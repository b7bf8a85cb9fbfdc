import { randomUUID } from "node:crypto";
import type { Memory } from "@reins/bridge";
import { Advisor } from "./advisor/advisor.ts";
import type { ControlPort } from "./control/control-port.ts";
import { type SessionStore, VolatileSessionStore } from "./history/session-store.ts";
import { type Models, modelsFrom } from "./models/models.ts";
import { type Clock, systemClock } from "./ports/clock.ts";
import type { HostServices } from "./tools/host-services.ts";
import { type CommandRunner, SystemCommands } from "./tools/run-command.ts";
import { TURN_LIMITS, type TurnLimits } from "./turn/turn.ts";

/** What the agent stands on. */
export interface AgentDependencies {
  /** Where sessions outlive their process. */
  readonly store: SessionStore;
  readonly models: Models;
  /** The supervisor, for what only the agent can see. */
  readonly control: ControlPort;
  /** What the host lends: mail, board, subagents. */
  readonly services: HostServices;
  readonly memory: Memory | undefined;
  readonly commands: CommandRunner;
  /** Whether a session may use a tool at all. One that it may not use is never shown to the model. */
  readonly mayUse: (tool: string, sessionId: string) => boolean | Promise<boolean>;
  readonly limits: TurnLimits;
  /** What comes after the agent's own system prompt in the requests of a session, as it is now. */
  readonly instructions: (sessionId: string) => string | undefined;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly newId: () => string;
  /** Told of what should not happen. */
  readonly onFault: (fault: unknown) => void;
}

/** What an agent is made from; whatever is left out has a default that works. */
export type NativeAgentOptions = Partial<Omit<AgentDependencies, "limits">> & {
  readonly limits?: Partial<TurnLimits>;
};

/** All parts, with defaults for those that were not given. */
export function dependenciesFrom({ limits, ...given }: NativeAgentOptions): AgentDependencies {
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
    limits: { ...TURN_LIMITS, ...limits },
  };
}
