import { createHash } from "node:crypto";
import { classify, membersOf } from "@reins/acp";
import { sandboxAcpOperations } from "@reins/api";
import type { Hosting } from "@reins/host";
import { type Clock, systemClock } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import { type ConnectionLimits, type Connections, CurrentConnections } from "../connections/connections.ts";
import type { DurableConnection } from "../connections/durable-connection.ts";
import { streamMessages } from "../connections/message-stream.ts";
import { requireAccepted } from "../gateway/request.ts";
import { type GatewayLimits, type Log, settleLimits } from "../limits.ts";
import { opencodeRoutes } from "../opencode/opencode-routes.ts";
import { agentProblem, HttpProblem } from "../problems.ts";
import type { LongPollCall, RawResponse, Routes } from "../routes/router.ts";
import { commandRoutes } from "../v1/commands.ts";
import { configRoutes } from "../v1/config.ts";
import { fileRoutes } from "../v1/files.ts";
import { graphRoutes } from "../v1/runs.ts";
import { sessionRoutes } from "../v1/sessions.ts";
import { skillRoutes } from "../v1/skills.ts";
import { toolRoutes } from "../v1/tools.ts";
import { acpRoutes } from "./acp-routes.ts";
import { rpcFrame, rpcRoutes, takeFor, type WellFormed } from "./rpc-routes.ts";

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

const MOST_LISTED = 1_000;
/** How long the agent of a session may take to close it. */
const CLOSE_MS = 5_000;

/** ACP as Sandbox Agent ships it: a connection for each id that a client chooses, of its own principal. */
function acpServerRoutes(current: CurrentConnections): Routes {
  const opening = new Map<string, Promise<DurableConnection>>();
  return {
    name: "acp servers",
    mount(router) {
      router.handle(sandboxAcpOperations.listAcpServers, async ({ principal, harness }) => {
        const connections = await current.open(harness);
        const found = await connections.list(principal, { limit: MOST_LISTED });
        const servers = found.flatMap(
          ({ record: { dialect, principal: holder, server, agent, created_at } }) =>
            dialect === "server" && holder === principal.id && server !== undefined
              ? [{ serverId: server, agent: agent ?? "", createdAtMs: Date.parse(created_at) }]
              : [],
        );
        return { servers };
      });
      router.longPoll(sandboxAcpOperations.postAcpServer, async (call) => {
        requireAccepted(call.request, "application/json");
        const message = classify(call.body);
        if (message.kind === "malformed") throw new HttpProblem("invalid", message.reason);
        const connections = await current.open(call.harness);
        const { principal, params } = call;
        const key = idOf(principal, params.server);
        const begun = opening.get(key) ?? openedFor(call, connections, key);
        opening.set(key, begun);
        const kept = await begun.finally(() => opening.delete(key));
        expectAgent(kept, call.query.agent);
        return answered(call, connections, kept, message);
      });
      router.stream(sandboxAcpOperations.streamAcpServer, async (call, open) => {
        requireAccepted(call.request, "text/event-stream");
        const connections = await current.open(call.harness);
        const kept = await connections.find(
          "server",
          idOf(call.principal, call.params.server),
          call.principal,
        );
        await streamMessages(call, open, { kept, session: undefined, continues: false, frame: rpcFrame });
      });
      router.handle(sandboxAcpOperations.closeAcpServer, async ({ params, principal, harness }) => {
        const connections = await current.open(harness);
        const id = idOf(principal, params.server);
        const kept = await connections.find("server", id, principal).catch(() => undefined);
        if (kept) await closeSessions(kept);
        await connections.close("server", id, principal);
        return undefined;
      });
    },
  };
}

type PostCall = LongPollCall<typeof sandboxAcpOperations.postAcpServer>;

/** The id of a principal's connection by the name that its client chose. */
function idOf({ tenant, id }: Principal, server: string): string {
  return createHash("sha256")
    .update(JSON.stringify([tenant, id, server]))
    .digest("base64url");
}

/** The connection of an id, opened if there is none. */
async function openedFor(call: PostCall, connections: Connections, id: string): Promise<DurableConnection> {
  const { principal, params, query } = call;
  if (await connections.has(id)) return connections.find("server", id, principal);
  if (query.agent === undefined)
    throw new HttpProblem("invalid", "the first message for an id names its agent: ?agent=");
  connections.requireAgent(query.agent);
  return connections.open("server", principal, query.agent, { id, server: params.server });
}

function expectAgent({ record }: DurableConnection, agent: string | undefined): void {
  if (agent === undefined || agent === record.agent) return;
  throw new HttpProblem("conflict", `this id is used for the agent ${record.agent}`);
}

/** Handles a message. A connection whose agent cannot be started is not kept. */
async function answered(
  call: PostCall,
  connections: Connections,
  kept: DurableConnection,
  message: WellFormed,
): Promise<RawResponse> {
  if (message.kind !== "request" || message.method !== "initialize") return takeFor(call, kept, message);
  try {
    const result = await kept.initialize(membersOf(message.params));
    return { status: 200, text: JSON.stringify({ jsonrpc: "2.0", id: message.id, result }) };
  } catch (error) {
    await connections.close("server", kept.connection.id, call.principal);
    throw agentProblem(error);
  }
}

/** Closes the sessions of a connection, which cancels their turns; they can be resumed. */
async function closeSessions({ connection }: DurableConnection): Promise<void> {
  const late = AbortSignal.timeout(CLOSE_MS);
  const closing = connection.sessions.map((sessionId) =>
    connection.request("session/close", { sessionId }, late).catch(() => undefined),
  );
  await Promise.all(closing);
}
