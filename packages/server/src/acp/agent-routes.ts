import type { Hosting } from "@reins/host";
import { type Clock, systemClock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import { type ConnectionLimits, CurrentConnections } from "../connections/connections.ts";
import { type GatewayLimits, type Log, settleLimits } from "../limits.ts";
import { opencodeRoutes } from "../opencode/opencode-routes.ts";
import type { Routes } from "../routes/router.ts";
import { commandRoutes } from "../v1/commands.ts";
import { configRoutes } from "../v1/config.ts";
import { fileRoutes } from "../v1/files.ts";
import { graphRoutes } from "../v1/runs.ts";
import { sessionRoutes } from "../v1/sessions.ts";
import { skillRoutes } from "../v1/skills.ts";
import { toolRoutes } from "../v1/tools.ts";
import { acpRoutes } from "./acp-routes.ts";
import { acpServerRoutes } from "./acp-servers.ts";
import { rpcRoutes } from "./rpc-routes.ts";

export interface AgentRoutesOptions {
  /** Waits for the harness, whose store has the server's tables. */
  readonly harness: () => Promise<Harness>;
  /** Waits until agents can run; rejects with a reason for users. */
  readonly hosting: () => Promise<Hosting>;
  readonly log: Log;
  /** The default agent of connections to `/acp`. */
  readonly defaultAgent?: string | undefined;
  readonly clock?: Clock;
  /** Limits of the gateway and of agents. */
  readonly limits?: Partial<GatewayLimits & ConnectionLimits>;
}

const DAY_MS = 86_400_000;

const DEFAULT_LIMITS: ConnectionLimits = {
  requestMs: 120_000,
  silenceMs: 15 * 60_000,
  expiryMs: DAY_MS,
  restMs: 5 * 60_000,
  perPrincipal: 4_000,
};

/** The routes of `/v1/rpc`, `/acp`, `/opencode`, sessions and connections. */
export function agentRoutes(options: AgentRoutesOptions): readonly Routes[] {
  const { harness, hosting, log, defaultAgent, clock = systemClock } = options;
  const limits = { ...DEFAULT_LIMITS, ...settleLimits(options.limits), ...options.limits };
  const current = new CurrentConnections({ hosting, clock, limits, log });
  return [
    { ...rpcRoutes(current), close: () => current.close() },
    acpRoutes(current, { harness, clock, defaultAgent, limits, log }),
    sessionRoutes(current),
    toolRoutes(current),
    graphRoutes(hosting),
    fileRoutes(hosting),
    acpServerRoutes(current),
    configRoutes(hosting),
    commandRoutes(hosting, { harness, clock, limits }),
    opencodeRoutes({ hosting, defaultAgent, log }),
    skillRoutes(async () => {
      const { skills, host } = await hosting();
      return { skills, folders: host.folders };
    }),
  ];
}
