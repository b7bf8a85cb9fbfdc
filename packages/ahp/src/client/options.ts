import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "@reins/kit";
import type { AhpError } from "../errors/ahp-error.ts";
import type { AhpEvent } from "../protocol/event.ts";
import type { OpenOptions } from "../transport/open.ts";

/** Who the client is and how it behaves. */
export interface ClientOptions extends OpenOptions {
  /** What the agent is, told in the handshake. */
  readonly framework?: string;
  readonly version?: string;
  /** Names of the session and the agent; random unless given. */
  readonly sessionId?: string;
  readonly agentId?: string;
  /** How long a call may take unless it says otherwise. */
  readonly timeoutMs?: number;
  /**
   * What a blocking event gives when no valid decision came: a decision that lets nothing happen, with the reason,
   * or an error to be caught. Never an allow.
   */
  readonly onFailure?: "block" | "throw";
  /** Told whenever a decision was made up because none came. */
  readonly onFailClosed?: (error: AhpError, events: readonly AhpEvent[]) => void;
  /** Makes request ids. */
  readonly newId?: () => string;
}

/** {@link ClientOptions} with every default in place. */
export interface ClientSettings {
  readonly framework: string;
  readonly version: string;
  readonly sessionId: string;
  readonly agentId: string;
  readonly timeoutMs: number;
  readonly onFailure: "block" | "throw";
  readonly onFailClosed: (error: AhpError, events: readonly AhpEvent[]) => void;
  readonly newId: () => string;
  readonly clock: Clock;
}

const DEFAULT_TIMEOUT_MS = 10_000;

/** Fills in the defaults. */
export function settleClient(options: ClientOptions): ClientSettings {
  return {
    framework: options.framework ?? "reins-ahp",
    version: options.version ?? "2.4.0",
    sessionId: options.sessionId ?? randomUUID(),
    agentId: options.agentId ?? randomUUID(),
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    onFailure: options.onFailure ?? "block",
    onFailClosed: options.onFailClosed ?? (() => {}),
    newId: options.newId ?? randomUUID,
    clock: options.clock ?? systemClock,
  };
}
