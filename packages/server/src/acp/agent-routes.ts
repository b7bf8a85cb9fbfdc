import type { Hosting } from "@reins/host";
import { type Clock, systemClock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import type { ConnectionLimits } from "../connections/connections.ts";
import type { AgentTimeouts } from "../connections/deadline.ts";
import { ServingDoor } from "../connections/serving.ts";
import { type GatewayLimits, type Log, settleLimits } from "../limits.ts";
import type { Routes } from "../routes/router.ts";
import { sessionRoutes } from "../v1/sessions.ts";
import { AcpRoutes } from "./acp-routes.ts";
import { rpcRoutes } from "./rpc-routes.ts";

/** How long agents are waited for and connections are kept, and how many there may be. */
export interface AgentLimits extends ConnectionLimits, AgentTimeouts {}

/** What the routes that serve agents need. */
export interface AgentRoutesOptions {
  /** Waits until the harness is open. Its store holds the server's tables too. */
  readonly harness: () => Promise<Harness>;
  /** Waits until agents can be run; rejects with a reason that a person understands. */
  readonly hosting: () => Promise<Hosting>;
  readonly log: Log;
  /** The agent of a connection to `/acp` that names none. */
  readonly defaultAgent?: string | undefined;
  readonly clock?: Clock;
  /** Those of the gateway that they are given to, and their own. */
  readonly limits?: Partial<GatewayLimits & AgentLimits>;
}

const DAY_MS = 86_400_000;

const DEFAULT_LIMITS: AgentLimits = {
  requestMs: 120_000,
  silenceMs: 15 * 60_000,
  expiryMs: DAY_MS,
  restMs: 5 * 60_000,
  perPrincipal: 4_000,
};

/** The dialects in which agents are reached: `/v1/rpc`, `/acp`, and what is to be seen of their sessions. */
export function agentRoutes(options: AgentRoutesOptions): readonly Routes[] {
  const { harness, hosting, log, defaultAgent, clock = systemClock } = options;
  const limits = { ...DEFAULT_LIMITS, ...settleLimits(options.limits), ...options.limits };
  const door = new ServingDoor({ hosting, clock, limits, log });
  const rpc = rpcRoutes(door, { clock, patience: limits });
  return [
    { ...rpc, close: () => door.close() },
    new AcpRoutes(door, { harness, clock, patience: limits, defaultAgent, limits, log }),
    sessionRoutes(door),
  ];
}
