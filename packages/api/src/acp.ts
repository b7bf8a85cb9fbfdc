import { z } from "zod";
import { ACP_CONNECTION, ACP_SESSION, Nothing, operation, RPC_CONNECTION } from "./operation.ts";
import type { ProblemCode } from "./problem.ts";
import { Moment, named, PageAfter, PageLimit, PathName } from "./schema.ts";

/** The id of a request, which goes back as it came. */
export const RpcId = z.union([z.string().max(1_024), z.int(), z.null()]);

/** One message of JSON-RPC: a request, a notification or an answer. Its content is ACP. */
export const RpcMessage = named(
  "RpcMessage",
  z.looseObject({
    jsonrpc: z.literal("2.0"),
    id: RpcId.optional(),
    method: z.string().min(1).max(256).optional(),
    params: z.unknown().optional(),
    result: z.unknown().optional(),
    error: z.unknown().optional(),
  }),
);
export type RpcMessage = z.infer<typeof RpcMessage>;

const audience = "principal";
const connectionId = z.string().max(256);

const OF_AGENTS: readonly ProblemCode[] = ["not_found", "not_acceptable", "bad_gateway", "gateway_timeout"];
const OF_STREAMS: readonly ProblemCode[] = ["not_found", "not_acceptable", "conflict"];
const rpcHeaders = z.object({ [RPC_CONNECTION]: connectionId });
const acpHeaders = z.object({
  [ACP_CONNECTION]: connectionId,
  [ACP_SESSION]: z.string().max(1_024).optional(),
});
const agent = z.strictObject({ agent: z.string().min(1).max(128).optional() });

/** ACP over HTTP with one stream for each connection. */
export const rpcOperations = {
  postRpc: operation({
    id: "post_rpc",
    method: "POST",
    path: "/v1/rpc",
    summary:
      "Receives one ACP message. A request gets 200 with its response, or 202 with the response on the stream where `Prefer: respond-async` asks for that; any other message gets 202.",
    audience,
    headers: rpcHeaders.partial().extend({ Prefer: z.string().max(256).optional() }),
    body: RpcMessage,
    answer: RpcMessage,
    also: { status: 202, answer: Nothing },
    problems: [...OF_AGENTS, "conflict"],
  }),
  streamRpc: operation({
    id: "stream_rpc",
    method: "GET",
    path: "/v1/rpc",
    summary: "Every message to a connection, from its beginning or after `Last-Event-ID`, then as they come.",
    audience,
    headers: rpcHeaders,
    answer: RpcMessage,
    events: "message",
    problems: OF_STREAMS,
  }),
  closeRpc: operation({
    id: "close_rpc",
    method: "DELETE",
    path: "/v1/rpc",
    summary: "Ends a connection, once or again. Its sessions and turns continue.",
    audience,
    headers: rpcHeaders,
  }),
} as const;

/** ACP over HTTP as its own draft has it: a stream for the connection, and one for each session. */
export const acpOperations = {
  postAcp: operation({
    id: "post_acp",
    method: "POST",
    path: "/acp",
    summary:
      "Receives one ACP message. `initialize` gets 200 with its response; any other message gets 202, and the response to a request is sent on a stream.",
    audience,
    headers: acpHeaders.partial(),
    query: agent,
    body: RpcMessage,
    status: 202,
    also: { status: 200, answer: RpcMessage },
    problems: OF_AGENTS,
  }),
  streamAcp: operation({
    id: "stream_acp",
    method: "GET",
    path: "/acp",
    summary:
      "The messages to a connection that belong to no session, or with a session's id those of the session; a WebSocket has all of them.",
    audience,
    headers: acpHeaders,
    query: agent,
    answer: RpcMessage,
    events: "message",
    problems: OF_STREAMS,
  }),
  closeAcp: operation({
    id: "close_acp",
    method: "DELETE",
    path: "/acp",
    summary: "Ends a connection and its streams. Its sessions and turns continue.",
    audience,
    headers: acpHeaders.pick({ [ACP_CONNECTION]: true }),
    status: 202,
    problems: ["not_found"],
  }),
} as const;

/** A client that speaks ACP over HTTP. It outlives its streams, and restarts. */
export const Connection = named(
  "Connection",
  z.looseObject({
    id: z.string(),
    dialect: z.enum(["rpc", "acp", "server"]).describe("/v1/rpc, /acp, or /v1/acp/{server}"),
    principal: z.string(),
    agent: z.string().optional(),
    sessions: z.array(z.string()).describe("the sessions it follows"),
    streams: z.int().describe("how many streams of it are open now"),
    created_at: Moment,
    last_seen: Moment,
    expires_at: Moment,
  }),
);
export type Connection = z.infer<typeof Connection>;

/** Some connections, and where the next ones begin. */
export const ConnectionPage = named(
  "ConnectionPage",
  z.looseObject({ connections: z.array(Connection), next: z.string().optional() }),
);

/** Operations on connections. */
export const connectionOperations = {
  listConnections: operation({
    id: "list_connections",
    method: "GET",
    path: "/v1/connections",
    summary:
      "Lists the connections that the caller may see, the newest first: its own, for an admin all of the tenant.",
    audience: "principal",
    query: z.strictObject({ limit: PageLimit, after: PageAfter }),
    answer: ConnectionPage,
  }),
  closeConnection: operation({
    id: "close_connection",
    method: "DELETE",
    path: "/v1/connections/{id}",
    summary: "Ends a connection. Its sessions continue.",
    audience: "principal",
    params: z.strictObject({ id: PathName }),
    problems: ["not_found"],
  }),
} as const;
