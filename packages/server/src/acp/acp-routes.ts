import { randomBytes } from "node:crypto";
import { classify, type JsonObject, membersOf, type RequestId } from "@reins/acp";
import { ACP_CONNECTION, ACP_SESSION, acpOperations, OTHER_DOORS } from "@reins/api";
import { agentIn, questionIn } from "@reins/host";
import type { Clock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import { authorize } from "../access/authenticator.ts";
import type { Connections, CurrentConnections } from "../connections/connections.ts";
import type { AgentTimeouts } from "../connections/durable-connection.ts";
import { framed, streamMessages } from "../connections/message-stream.ts";
import { headerOf, requireHeader, withTrace } from "../gateway/request.ts";
import type { GatewayLimits, Log } from "../limits.ts";
import { HttpProblem } from "../problems.ts";
import type { LongPollCall, RawResponse, Routes } from "../routes/router.ts";
import { WebSocketAcceptor } from "../streams/web-socket.ts";
import { WebSocketClient } from "./acp-web-socket.ts";

const ID_BYTES = 24;
const frame = framed((text, order) => `${order === undefined ? "" : `id: ${order}\n`}data: ${text}\n\n`);

/** ACP as in its HTTP draft: a stream per session, and WebSocket. */
export function acpRoutes(current: CurrentConnections, settings: AcpSettings): Routes {
  const acceptor = new WebSocketAcceptor(settings.limits);
  return {
    name: "acp",
    mount(router) {
      router.longPoll(acpOperations.postAcp, async (call) => {
        return takeMessage(call, await current.open(call.harness), settings);
      });
      router.stream(acpOperations.streamAcp, async (call, open) => {
        if (!call.request.headers.accept?.toLowerCase().includes("text/event-stream"))
          throw new HttpProblem("not_acceptable", "messages come as text/event-stream, or over a WebSocket");
        const id = requireHeader(call.request, ACP_CONNECTION);
        const session = headerOf(call.request, ACP_SESSION) ?? null;
        const connections = await current.open(call.harness);
        const kept = await connections.find("acp", id, call.principal);
        await streamMessages(call, open, { kept, session, continues: true, frame });
      });
      router.longPoll(acpOperations.closeAcp, async (call) => {
        const id = requireHeader(call.request, ACP_CONNECTION);
        const connections = await current.open(call.harness);
        if (await connections.close("acp", id, call.principal)) return { status: 202 };
        throw new HttpProblem("not_found", "the connection is not known, was ended or has expired");
      });
      router.upgrade(OTHER_DOORS.acpSocket, async (request, socket, head, caller) => {
        const { principal, harness } = await authorize(settings.harness, caller.id);
        const { hosting } = await current.open(harness);
        const id = randomBytes(ID_BYTES).toString("base64url");
        const agent = new URLSearchParams(request.url?.split("?", 2)[1] ?? "").get("agent") ?? undefined;
        const { identity, quotas } = harness;
        const turn = () => quotas.turn("messages", principal);
        const options = { principal, hosting, identity, id, agent, settings, line: socket, turn };
        acceptor.accept(
          { request, socket, head },
          (webSocket) => new WebSocketClient(webSocket, options),
          `${ACP_CONNECTION}: ${id}`,
        );
      });
    },
    close: () => acceptor.close(),
  };
}

export interface AcpSettings {
  readonly harness: () => Promise<Harness>;
  readonly clock: Clock;
  /** The agent of connections that name none. */
  readonly defaultAgent?: string | undefined;
  readonly limits: GatewayLimits & AgentTimeouts;
  readonly log: Log;
}

type AcpCall = LongPollCall<typeof acpOperations.postAcp>;

const ACCEPTED: RawResponse = { status: 202 };

/** Methods that need a session. */
const OF_SESSIONS: ReadonlySet<string> = new Set(
  [
    ...["cancel", "close", "delete", "fork", "load", "prompt", "resume"],
    ...["set_config_option", "set_mode", "set_model"],
  ].map((name) => `session/${name}`),
);

/** Methods answered on the connection's stream: the client cannot read the session's stream before the response. */
const OPENS_SESSION: ReadonlySet<string> = new Set(["session/load", "session/resume", "session/fork"]);

/** Handles one message. The first must be `initialize`; all others are accepted and answered on a stream. */
async function takeMessage(
  call: AcpCall,
  connections: Connections,
  { defaultAgent }: AcpSettings,
): Promise<RawResponse> {
  const message = classify(call.body);
  const connection = headerOf(call.request, ACP_CONNECTION);
  if (message.kind === "malformed") throw new HttpProblem("invalid", message.reason);
  if (message.kind === "request" && message.method === "initialize") {
    if (connection !== undefined) throw new HttpProblem("invalid", "this connection is initialized already");
    if (message.id === null) throw new HttpProblem("invalid", "initialize is a request and has an id");
    const params = membersOf(message.params);
    const agent = agentIn(params) ?? call.query.agent ?? defaultAgent;
    if (agent === undefined)
      throw new HttpProblem("invalid", "name an agent: in params._meta.reins.agent, or as ?agent=");
    connections.requireAgent(agent);
    // The client gets the id of its connection only after the agent has started.
    const { id, result } = await connections.initialize("acp", call.principal, params, agent);
    call.header(ACP_CONNECTION, id);
    return { status: 200, text: JSON.stringify({ jsonrpc: "2.0", id: message.id, result }) };
  }
  if (connection === undefined)
    throw new HttpProblem("invalid", `the first message is initialize; any other needs ${ACP_CONNECTION}`);
  const kept = await connections.find("acp", connection, call.principal);
  switch (message.kind) {
    case "request": {
      const params = membersOf(message.params);
      const session = sessionOf(call, message.method, params);
      const traced = withTrace(call.request, message.method, params);
      const answering = kept.ask(message.id, message.method, traced);
      const stream = OPENS_SESSION.has(message.method) ? undefined : session;
      await kept.later(message.id, message.method, answering, stream);
      return ACCEPTED;
    }
    case "notification":
      sessionOf(call, message.method, membersOf(message.params));
      await kept.notify(message.method, message.params);
      return ACCEPTED;
    case "result":
      expectSessionOf(call, connections, message.id);
      // A late answer is accepted: a client of this draft drops its connection when an answer is rejected.
      kept.connection.take(message.id, message.result);
      return ACCEPTED;
    case "error":
      expectSessionOf(call, connections, message.id);
      kept.connection.fail(message.id, message.error);
      return ACCEPTED;
  }
}

/**
 * The session of a message. The header lets a proxy route by it; the official Python client omits it in some
 * messages.
 */
function sessionOf({ request }: AcpCall, method: string, { sessionId }: JsonObject): string | undefined {
  const named = headerOf(request, ACP_SESSION);
  if (named === undefined && sessionId === undefined && OF_SESSIONS.has(method))
    throw new HttpProblem("invalid", `${method} needs a sessionId`);
  if (named !== undefined && sessionId !== undefined && named !== sessionId)
    throw new HttpProblem("invalid", `the header ${ACP_SESSION} names another session than the message`);
  return named ?? (typeof sessionId === "string" ? sessionId : undefined);
}

/** Rejects an answer whose header names another session than the question's. */
function expectSessionOf({ request }: AcpCall, { hosting }: Connections, id: RequestId): void {
  const key = questionIn(id);
  const asking = key === undefined ? undefined : hosting.hub.asking(key);
  const named = headerOf(request, ACP_SESSION);
  if (asking && named !== undefined && named !== asking.session)
    throw new HttpProblem(
      "invalid",
      `the header ${ACP_SESSION} names another session than the one that asked`,
    );
}
