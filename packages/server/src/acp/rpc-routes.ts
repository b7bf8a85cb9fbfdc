import { classify, type JsonObject, membersOf, type RequestId, SANDBOX, sandboxMeta } from "@reins/acp";
import { RPC_CONNECTION, rpcOperations } from "@reins/api";
import type { Answered } from "@reins/host";
import type { Clock } from "@reins/kit";
import { type AgentTimeouts, deadlineFor, onTimeout } from "../connections/deadline.ts";
import type { DurableConnection } from "../connections/durable-connection.ts";
import { framed, streamMessages } from "../connections/message-stream.ts";
import type { Serving, ServingDoor } from "../connections/serving.ts";
import { headerOf, prefersAsync, requireAccepted, requireHeader } from "../gateway/request.ts";
import { agentProblem, HttpProblem } from "../problems.ts";
import type { LongPollCall, RawResponse, Routes } from "../routes/router.ts";

const frame = framed(
  (text, order) => `${order === undefined ? "" : `id: ${order}\n`}event: message\ndata: ${text}\n\n`,
);

/** ACP over HTTP: POST carries messages and their responses, one stream everything else. */
export function rpcRoutes(door: ServingDoor, settings: RpcSettings): Routes {
  return {
    name: "rpc",
    mount(router) {
      router.longPoll(rpcOperations.postRpc, async (call) => {
        requireAccepted(call.request, "application/json");
        return takeMessage(call, await door.open(call.harness), settings);
      });
      router.stream(rpcOperations.streamRpc, async (call, open) => {
        requireAccepted(call.request, "text/event-stream");
        const id = requireHeader(call.request, RPC_CONNECTION);
        const { connections } = await door.open(call.harness);
        const kept = await connections.find("rpc", id, call.principal);
        await streamMessages(call, open, { kept, session: undefined, continues: false, frame });
      });
      router.handle(rpcOperations.closeRpc, async (call) => {
        const id = requireHeader(call.request, RPC_CONNECTION);
        const { connections } = await door.open(call.harness);
        await connections.close("rpc", id, call.principal);
        return undefined;
      });
    },
  };
}

export interface RpcSettings {
  readonly clock: Clock;
  readonly patience: AgentTimeouts;
}

type RpcCall = LongPollCall<typeof rpcOperations.postRpc>;

interface RpcRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
}

const ACCEPTED: RawResponse = { status: 202 };

/** Handles one message. The first must be `initialize`; all others name their connection. */
async function takeMessage(call: RpcCall, serving: Serving, settings: RpcSettings): Promise<RawResponse> {
  const sorted = classify(call.body);
  if (sorted.kind === "malformed") throw new HttpProblem("invalid", sorted.reason);
  if (sorted.kind === "request" && NAMES_AGENT.has(sorted.method))
    expectAgent(serving, membersOf(sorted.params), sorted.method);
  const id = headerOf(call.request, RPC_CONNECTION);
  if (id === undefined) {
    if (sorted.kind !== "request" || sorted.method !== "initialize")
      throw new HttpProblem("invalid", `the first message is initialize; any other needs ${RPC_CONNECTION}`);
    return initialize(call, serving, settings, { ...sorted, params: membersOf(sorted.params) });
  }
  const kept = await serving.connections.find("rpc", id, call.principal);
  switch (sorted.kind) {
    case "request":
      return answer(call, serving, settings, kept, { ...sorted, params: membersOf(sorted.params) });
    case "notification":
      await kept.notify(sorted.method, sorted.params);
      return ACCEPTED;
    case "result":
      return settled(kept.connection.answer(sorted.id, sorted.result));
    case "error":
      return settled(kept.connection.fail(sorted.id, sorted.error));
  }
}

const NAMES_AGENT: ReadonlySet<string> = new Set(["initialize", "session/new"]);

/** Checks the agent of `initialize` and `session/new`; a session without one uses the connection's. */
function expectAgent({ hosting }: Serving, params: JsonObject, method: string): void {
  const { agent } = sandboxMeta(params);
  if (agent === undefined && method === "session/new") return;
  if (typeof agent !== "string")
    throw new HttpProblem("invalid", `${method} names its agent in params._meta["${SANDBOX}"].agent`);
  try {
    hosting.catalogue.entry(agent);
  } catch (error) {
    throw agentProblem(error);
  }
}

/** Opens a connection; the client gets its id only after the agent has started. */
async function initialize(
  call: RpcCall,
  { connections, hosting }: Serving,
  { clock, patience }: RpcSettings,
  { id, method, params }: RpcRequest,
): Promise<RawResponse> {
  const kept = await connections.open("rpc", call.principal);
  const { hub } = hosting;
  const deadline = deadlineFor({ method, session: undefined }, { hub, clock, patience });
  try {
    const { signal } = new AbortController();
    const initialized = kept.connection.request(method, params, signal);
    const result = await Promise.race([initialized, deadline.passed]);
    if (result === "late") throw tooLate(method);
    await kept.settled();
    call.header(RPC_CONNECTION, kept.connection.id);
    return { status: 200, text: JSON.stringify({ jsonrpc: "2.0", id, result }) };
  } catch (error) {
    await connections.close("rpc", kept.connection.id, call.principal);
    throw agentProblem(error);
  } finally {
    deadline.cancel();
  }
}

/** Responds to a request here, or on the stream if it takes too long, the client disconnected, or it prefers that. */
async function answer(
  call: RpcCall,
  { hosting }: Serving,
  { clock, patience }: RpcSettings,
  kept: DurableConnection,
  { id, method, params }: RpcRequest,
): Promise<RawResponse> {
  const answering = kept.ask(id, method, params);
  if (prefersAsync(call.request)) {
    await kept.later(id, method, answering);
    call.header("preference-applied", "respond-async");
    return ACCEPTED;
  }
  const session = typeof params.sessionId === "string" ? params.sessionId : undefined;
  const { promise, resolve, reject } = Promise.withResolvers<JsonObject | "late" | "gone">();
  answering.then(resolve, reject);
  const parts = { hub: hosting.hub, clock, patience };
  const awaited = { method, session, asked: () => kept.askedFor(id) };
  const cancelDeadline = onTimeout(awaited, parts, () => resolve("late"));
  const cancelGone = call.onDisconnect(() => resolve("gone"));
  try {
    const first = await promise;
    if (typeof first === "object") return { status: 200, text: JSON.stringify(first) };
    await kept.later(id, method, answering);
    if (first === "late") throw tooLate(method);
    return ACCEPTED;
  } finally {
    cancelDeadline();
    cancelGone();
  }
}

function tooLate(method: string): HttpProblem {
  const detail = `the agent has not answered ${method}; if it does, the answer comes on the stream`;
  return new HttpProblem("gateway_timeout", detail);
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
