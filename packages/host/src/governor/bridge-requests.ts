import { isDeepStrictEqual } from "node:util";
import { CODE, type JsonObject, RpcError } from "@reins/acp";
import {
  type BridgeMethod,
  HOST_SOURCE,
  HostPulse,
  HostTools,
  hostToolDescription,
  hostToolText,
  withinDeadline,
} from "@reins/bridge";
import type { LocalServer } from "@reins/mcp";
import { z } from "zod";
import { enforce } from "../control/enforce.ts";
import { perform, refusal } from "../control/outcome.ts";
import type { GovernedSession } from "./governed-session.ts";
import { LENT_SERVER } from "./mcp-cards.ts";
import { mcpGate } from "./mcp-servers.ts";
import type { Permit } from "./tool-calls.ts";

/** A request of an agent to the host of its session. */
interface BridgeRequest<Method extends string = string> {
  readonly method: Method;
  readonly params: JsonObject;
}

/** The name of a host's tool in rules and records. */
export function hostToolName(tool: string): string {
  return `${HOST_SOURCE}/${tool}`;
}

/** Asks the host of a session what it lends. The host is a client of the session and sees all of it anyway. */
export async function askHost(
  session: GovernedSession,
  { method, params }: BridgeRequest<BridgeMethod>,
  signal: AbortSignal,
): Promise<unknown> {
  const only = session.clients.whoServes?.(method, params);
  if (only === undefined)
    throw new RpcError(CODE.methodNotFound, `no client of the session offers "${method}"`);
  const ask = (asked: BridgeMethod, given: JsonObject) => async (waiting: AbortSignal) => {
    const sent = { ...given, sessionId: session.id };
    return (await session.clients.request(asked, sent, waiting, { only })).value;
  };
  // The call of a tool may take as long as the tool.
  if (method === "builtin_call") return withinDeadline(method, session.within(signal), ask(method, params));
  const probe = only === session.clients.whoServes?.(PROBE, {}) ? ask(PROBE, {}) : undefined;
  return pulseOf(session, only).request(method, session.within(signal), ask(method, params), probe);
}

const PROBE = "host/capabilities";

/** Whether the client that a session asks answers at all. */
const pulses = new WeakMap<GovernedSession, { readonly host: string; readonly pulse: HostPulse }>();

function pulseOf(session: GovernedSession, host: string): HostPulse {
  const known = pulses.get(session);
  if (known?.host === host) return known.pulse;
  const pulse = new HostPulse();
  pulses.set(session, { host, pulse });
  return pulse;
}

const BuiltinCall = z.looseObject({
  name: z.string().min(1).max(256),
  args: z.array(z.unknown()).max(1).default([]),
  toolCallId: z.string().optional(),
});

/**
 * Has the host of a session run one of its tools, after the verdict on the call. A call that the agent asked permission for
 * was decided then; of an agent that is observed, only with the very arguments that were decided.
 */
export async function callHostTool(
  session: GovernedSession,
  request: BridgeRequest,
  signal: AbortSignal,
): Promise<unknown> {
  const { data } = BuiltinCall.safeParse(request.params);
  if (!data) throw new RpcError(CODE.invalidParams, "builtin_call needs a name, and one payload in args");
  const { name, args, toolCallId } = data;
  const [given = {}] = args;
  const tool = hostToolName(name);
  const run = () => askHost(session, { method: "builtin_call", params: { name, args: [given] } }, signal);
  if (toolCallId !== undefined && isPermitted(session, { toolCallId, tool, given })) return run();
  const point = { kind: "client_request", tool, arguments: given } as const;
  const enforced = await enforce(session, point, { signal: session.within(signal) });
  if (enforced.kind !== "allowed") throw await refusal(tool, enforced.verdict);
  return perform(session, { tool, entry: enforced.verdict.entry }, run);
}

/** The permissions that a call was made by: each counts for one. */
const used = new WeakSet<Permit>();

/** Whether a permission that the agent was given covers a call; from then on it covers no other. */
function isPermitted(
  { toolCalls, context }: GovernedSession,
  {
    toolCallId,
    tool,
    given,
  }: { readonly toolCallId: string; readonly tool: string; readonly given: unknown },
): boolean {
  const call = toolCalls.get(toolCallId);
  if (!call || call.concluded || call.permit.kind !== "given" || call.permit.tool !== tool) return false;
  // The native agent performs what was decided, modified or not; others are held to it.
  if (context.profile.isObserved && !isDeepStrictEqual(call.permit.decided?.arguments, given)) return false;
  if (used.has(call.permit)) return false;
  used.add(call.permit);
  return true;
}

/**
 * Gives an agent the tools that the session's client lends as one more MCP server; nothing where it takes none, or no client
 * lends any. The native agent asks for them by itself.
 */
export async function wrapLentTools(session: GovernedSession): Promise<unknown> {
  const { servers, entry } = session.context;
  if (!servers?.wrapLocal || !session.lacksLentTools) return undefined;
  const transport = entry.quirks?.mcp.includes("stdio") === false ? "http" : "stdio";
  const { server, close } = await servers.wrapLocal(lentServer(session), mcpGate(session), transport);
  session.closing.push(close);
  return server;
}

/** The tools that the client of a session lends, as an MCP server. The gateway decides each call before it gets here. */
function lentServer(session: GovernedSession): LocalServer {
  const hostTools = new HostTools({
    call: (_, method, params, signal) => askHost(session, { method, params }, signal),
    subscribe: () => () => undefined,
  });
  const { id: sessionId } = session;
  const listeners = new Set<() => void>();
  session.lentToolsChanged = () => {
    for (const listener of listeners) listener();
  };
  return {
    name: LENT_SERVER,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async tools(signal) {
      // A server of the gateway lists its tools when an agent connects: what was cached then may be outdated.
      hostTools.invalidate(sessionId);
      const { tools, warnings } = await hostTools.hostToolList(sessionId, signal);
      for (const warning of warnings)
        session.context.onFault(`the tools of the session's client: ${warning}`);
      return tools.map((tool) => ({
        name: tool.name,
        description: hostToolDescription(tool),
        inputSchema: { type: "object", ...tool.schema },
      }));
    },
    call: async (name, given, signal) =>
      hostToolText(await hostTools.hostToolCall(name, given, { sessionId, signal })),
  };
}
