import { randomUUID } from "node:crypto";
import { type Channel, CODE, channelPair, type JsonObject, Peer, RpcError } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import type { Harness, Principal } from "@reins/supervisor";
import { type AgentProfile, NATIVE } from "../control/scope.ts";
import type { GovernorOptions } from "../governor/context.ts";
import { Governor } from "../governor/governor.ts";

/** The agent of sessions in which an MCP client uses servers. The client itself knows nothing of Reins or ACP. */
export const MCP_CLIENT = "mcp-client";

/** It does nothing of its own: all that happens in its sessions passes through the MCP gateway. */
const PROFILE: AgentProfile = { ...NATIVE, methods: new Set() };

interface McpClientOptions {
  readonly harness: Harness;
  readonly entry: AgentEntry;
  readonly principal: Principal;
  readonly tapped: (channel: Channel, governor: () => Governor) => Channel;
  readonly governor: Pick<
    GovernorOptions,
    "from" | "clients" | "folders" | "servers" | "pins" | "showReplays" | "onFault" | "onSessions"
  >;
}

/**
 * Starts the agent that stands for MCP clients. It answers `session/new` with what the gateway put in the place of the
 * session's servers, which is for the program that relays for the client.
 */
export function startMcpClient({ harness, entry, principal, tapped, governor: rest }: McpClientOptions): {
  readonly governor: Governor;
  /** Whether an MCP client is connected to a server of any session. */
  isInUse(): boolean;
  stop(reason: string): Promise<void>;
} {
  const [ours, theirs, close] = channelPair();
  const governor: Governor = new Governor({
    ...rest,
    ...{ harness, entry, principal, profile: PROFILE, enforcement: "performed" },
    launch: { mode: undefined, configOptions: {}, meta: {}, strip: [] },
    channel: tapped(ours, () => governor),
  });
  new Peer(theirs, { request: answer, notification: () => undefined });
  return {
    governor,
    isInUse: () => governor.sessions.some(({ connected }) => connected.some((isConnected) => isConnected())),
    stop: (reason) => governor.close(reason, async () => close(new Error(reason))),
  };
}

async function answer(method: string, { mcpServers }: JsonObject): Promise<JsonObject> {
  switch (method) {
    case "initialize":
      return { protocolVersion: 1, agentCapabilities: { mcpCapabilities: { http: true, sse: true } } };
    case "session/new":
      return { sessionId: randomUUID(), _meta: { mcpServers } };
    case "session/close":
    case "session/delete":
      return {};
    default:
      throw new RpcError(CODE.methodNotFound, `an MCP client does not know "${method}"`);
  }
}
