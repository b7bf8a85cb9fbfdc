import { createHash } from "node:crypto";
import { classify, membersOf } from "@reins/acp";
import { sandboxAcpOperations } from "@reins/api";
import type { Principal } from "@reins/supervisor";
import type { Connections, CurrentConnections } from "../connections/connections.ts";
import type { DurableConnection } from "../connections/durable-connection.ts";
import { streamMessages } from "../connections/message-stream.ts";
import { requireAccepted } from "../gateway/request.ts";
import { agentProblem, HttpProblem } from "../problems.ts";
import type { LongPollCall, RawResponse, Routes } from "../routes/router.ts";
import { rpcFrame, takeFor, type WellFormed } from "./rpc-routes.ts";

const MOST_LISTED = 1_000;
/** How long the agent of a session may take to close it. */
const CLOSE_MS = 5_000;

/** ACP as Sandbox Agent ships it: a connection for each id that a client chooses, of its own principal. */
export function acpServerRoutes(current: CurrentConnections): Routes {
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
