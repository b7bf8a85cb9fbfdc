import { classify, type JsonObject, membersOf, type RequestId, SANDBOX, sandboxMeta } from "@reins/acp";
import { RPC_CONNECTION, rpcOperations } from "@reins/api";
import type { Answered } from "@reins/host";
import type { Connections, CurrentConnections } from "../connections/connections.ts";
import type { DurableConnection } from "../connections/durable-connection.ts";
import { framed, streamMessages } from "../connections/message-stream.ts";
import { headerOf, prefersAsync, requireAccepted, requireHeader, withTrace } from "../gateway/request.ts";
import { HttpProblem } from "../problems.ts";
import type { LongPollCall, RawResponse, Routes } from "../routes/router.ts";

/** A message as an event of the stream. */
export const rpcFrame = framed(
  (text, order) => `${order === undefined ? "" : `id: ${order}\n`}event: message\ndata: ${text}\n\n`,
);

/** ACP over HTTP: POST carries messages and their responses, one stream everything else. */
export function rpcRoutes(current: CurrentConnections): Routes {
  return {
    name: "rpc",
    mount(router) {
      router.longPoll(rpcOperations.postRpc, async (call) => {
        requireAccepted(call.request, "application/json");
        return takeMessage(call, await current.open(call.harness));
      });
      router.stream(rpcOperations.streamRpc, async (call, open) => {
        requireAccepted(call.request, "text/event-stream");
        const id = requireHeader(call.request, RPC_CONNECTION);
        const connections = await current.open(call.harness);
        const kept = await connections.find("rpc", id, call.principal);
        await streamMessages(call, open, { kept, session: undefined, continues: false, frame: rpcFrame });
      });
      router.handle(rpcOperations.closeRpc, async (call) => {
        const id = requireHeader(call.request, RPC_CONNECTION);
        const connections = await current.open(call.harness);
        await connections.close("rpc", id, call.principal);
        return undefined;
      });
    },
  };
}

type RpcCall = LongPollCall<typeof rpcOperations.postRpc>;
/** A message of JSON-RPC. */
export type WellFormed = Exclude<ReturnType<typeof classify>, { readonly kind: "malformed" }>;
type MessageCall = Pick<RpcCall, "request" | "header" | "onDisconnect">;

interface RpcRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
}

const ACCEPTED: RawResponse = { status: 202 };

/** Handles one message. The first must be `initialize`; all others name their connection. */
async function takeMessage(call: RpcCall, connections: Connections): Promise<RawResponse> {
  const message = classify(call.body);
  if (message.kind === "malformed") throw new HttpProblem("invalid", message.reason);
  if (message.kind === "request" && NAMES_AGENT.has(message.method))
    requireNamedAgent(connections, membersOf(message.params), message.method);
  const connection = headerOf(call.request, RPC_CONNECTION);
  if (connection === undefined) {
    if (message.kind !== "request" || message.method !== "initialize")
      throw new HttpProblem("invalid", `the first message is initialize; any other needs ${RPC_CONNECTION}`);
    // The client gets the id of its connection only after the agent has started.
    const { id, result } = await connections.initialize("rpc", call.principal, membersOf(message.params));
    call.header(RPC_CONNECTION, id);
    return { status: 200, text: JSON.stringify({ jsonrpc: "2.0", id: message.id, result }) };
  }
  return takeFor(call, await connections.find("rpc", connection, call.principal), message);
}

/** Handles a message of a connection that is open. */
export async function takeFor(
  call: MessageCall,
  kept: DurableConnection,
  message: WellFormed,
): Promise<RawResponse> {
  switch (message.kind) {
    case "request":
      return answer(call, kept, { ...message, params: membersOf(message.params) });
    case "notification":
      await kept.notify(message.method, message.params);
      return ACCEPTED;
    case "result":
      return settled(kept.connection.answer(message.id, message.result));
    case "error":
      return settled(kept.connection.fail(message.id, message.error));
  }
}

const NAMES_AGENT: ReadonlySet<string> = new Set(["initialize", "session/new"]);

/** Checks the agent of `initialize` and `session/new`; a session without one uses the connection's. */
function requireNamedAgent(connections: Connections, params: JsonObject, method: string): void {
  const { agent } = sandboxMeta(params);
  if (agent === undefined && method === "session/new") return;
  if (typeof agent !== "string")
    throw new HttpProblem("invalid", `${method} names its agent in params._meta["${SANDBOX}"].agent`);
  connections.requireAgent(agent);
}

/** Responds to a request here, or on the stream if it takes too long, the client disconnected, or it prefers that. */
async function answer(
  call: MessageCall,
  kept: DurableConnection,
  { id, method, params }: RpcRequest,
): Promise<RawResponse> {
  const answering = kept.ask(id, method, withTrace(call.request, method, params));
  const session = typeof params.sessionId === "string" ? params.sessionId : undefined;
  if (prefersAsync(call.request)) {
    await kept.later(id, method, answering, session);
    call.header("preference-applied", "respond-async");
    return ACCEPTED;
  }
  const { promise, resolve, reject } = Promise.withResolvers<JsonObject | "late" | "gone">();
  answering.then(resolve, reject);
  const cancelTimeout = kept.onTimeout(id, { method, session }, () => resolve("late"));
  const cancelGone = call.onDisconnect(() => resolve("gone"));
  try {
    const first = await promise;
    if (typeof first === "object") return { status: 200, text: JSON.stringify(first) };
    await kept.later(id, method, answering, session);
    if (first === "gone") return ACCEPTED;
    throw new HttpProblem(
      "gateway_timeout",
      `the agent has not answered ${method}; if it does, the answer comes on the stream`,
    );
  } finally {
    cancelTimeout();
    cancelGone();
  }
}

/** Maps the result of an answer to a response. */
function settled(answered: Answered): RawResponse {
  switch (answered) {
    case "first":
    case "left":
      return ACCEPTED;
    case "not_offered":
      throw new HttpProblem(
        "invalid",
        "the option was not offered; the question still waits for one that was",
      );
    case "late":
      throw new HttpProblem("conflict", "the question is settled already");
    case "foreign":
      throw new HttpProblem("forbidden", "the question was put to others; follow its session to answer");
    case "unknown":
      throw new HttpProblem("not_found", "nothing was asked under this id");
  }
}
