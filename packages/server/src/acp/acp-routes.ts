import { classify, type JsonObject, membersOf, type RequestId } from "@reins/acp";
import { ACP_CONNECTION, ACP_SESSION, acpOperations } from "@reins/api";
import { agentIn, questionIn } from "@reins/host";
import type { Clock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import { type AgentTimeouts, deadlineFor } from "../connections/deadline.ts";
import { framed, streamMessages } from "../connections/message-stream.ts";
import type { Serving, ServingDoor } from "../connections/serving.ts";
import { headerOf, requireHeader } from "../gateway/request.ts";
import type { GatewayLimits, Log } from "../limits.ts";
import { agentProblem, HttpProblem } from "../problems.ts";
import { authorize } from "../routes/authorize.ts";
import type { LongPollCall, RawResponse, Router, Routes } from "../routes/router.ts";
import { WebSockets } from "./acp-web-socket.ts";

const PATH = "/acp";
const frame = framed((text, order) => `${order === undefined ? "" : `id: ${order}\n`}data: ${text}\n\n`);

/** ACP as in its HTTP draft: a stream per session, and WebSocket. */
export class AcpRoutes implements Routes {
  readonly name = "acp";
  readonly #door: ServingDoor;
  readonly #settings: AcpSettings;
  readonly #webSockets: WebSockets;

  constructor(door: ServingDoor, settings: AcpSettings) {
    this.#door = door;
    this.#settings = settings;
    this.#webSockets = new WebSockets(settings);
  }

  mount(router: Router): void {
    router.longPoll(acpOperations.postAcp, async (call) => {
      return takeMessage(call, await this.#door.open(call.harness), this.#settings);
    });
    router.stream(acpOperations.streamAcp, async (call, open) => {
      if (!call.request.headers.accept?.toLowerCase().includes("text/event-stream"))
        throw new HttpProblem("not_acceptable", "messages come as text/event-stream, or over a WebSocket");
      const id = requireHeader(call.request, ACP_CONNECTION);
      const session = headerOf(call.request, ACP_SESSION) ?? null;
      const { connections } = await this.#door.open(call.harness);
      const kept = await connections.find("acp", id, call.principal);
      await streamMessages(call, open, { kept, session, continues: true, frame });
    });
    router.longPoll(acpOperations.closeAcp, async (call) => {
      const id = requireHeader(call.request, ACP_CONNECTION);
      const { connections } = await this.#door.open(call.harness);
      if (await connections.close("acp", id, call.principal)) return { status: 202 };
      throw new HttpProblem("not_found", "the connection is not known, was ended or has expired");
    });
    router.upgrade(PATH, async (request, socket, head, caller) => {
      const { harness } = this.#settings;
      const { principal, harness: opened } = await authorize(harness, caller.id);
      const serving = await this.#door.open(opened);
      this.#webSockets.take({ request, socket, head }, { principal, serving, identity: opened.identity });
    });
  }

  close(): Promise<void> {
    return this.#webSockets.close();
  }
}

export interface AcpSettings {
  readonly harness: () => Promise<Harness>;
  readonly clock: Clock;
  readonly patience: AgentTimeouts;
  /** The agent of connections that name none. */
  readonly defaultAgent?: string | undefined;
  readonly limits: GatewayLimits;
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
const TAKES_UP: ReadonlySet<string> = new Set(["session/load", "session/resume", "session/fork"]);

/** Handles one message. The first must be `initialize`; all others are accepted and answered on a stream. */
async function takeMessage(call: AcpCall, serving: Serving, settings: AcpSettings): Promise<RawResponse> {
  const sorted = classify(call.body);
  const id = headerOf(call.request, ACP_CONNECTION);
  if (sorted.kind === "malformed") throw new HttpProblem("invalid", sorted.reason);
  if (sorted.kind === "request" && sorted.method === "initialize") {
    if (id !== undefined) throw new HttpProblem("invalid", "this connection is initialized already");
    return initialize(call, serving, settings, { id: sorted.id, params: membersOf(sorted.params) });
  }
  if (id === undefined)
    throw new HttpProblem("invalid", `the first message is initialize; any other needs ${ACP_CONNECTION}`);
  const kept = await serving.connections.find("acp", id, call.principal);
  switch (sorted.kind) {
    case "request": {
      const params = membersOf(sorted.params);
      const session = sessionOf(call, sorted.method, params);
      const answering = kept.ask(sorted.id, sorted.method, params);
      const stream = TAKES_UP.has(sorted.method) ? undefined : session;
      await kept.later(sorted.id, sorted.method, answering, stream);
      return ACCEPTED;
    }
    case "notification":
      sessionOf(call, sorted.method, membersOf(sorted.params));
      await kept.notify(sorted.method, sorted.params);
      return ACCEPTED;
    case "result":
      expectSessionOf(call, serving, sorted.id);
      // A late answer is accepted: a client of this draft drops its connection when an answer is rejected.
      kept.connection.take(sorted.id, sorted.result);
      return ACCEPTED;
    case "error":
      expectSessionOf(call, serving, sorted.id);
      kept.connection.fail(sorted.id, sorted.error);
      return ACCEPTED;
  }
}

/** Opens a connection; the client gets its id only after the agent has started. */
async function initialize(
  call: AcpCall,
  { connections, hosting }: Serving,
  { clock, patience, defaultAgent }: AcpSettings,
  { id, params }: { readonly id: RequestId; readonly params: JsonObject },
): Promise<RawResponse> {
  if (id === null) throw new HttpProblem("invalid", "initialize is a request and has an id");
  const agent = agentIn(params) ?? call.query.agent ?? defaultAgent;
  if (agent === undefined)
    throw new HttpProblem("invalid", "name an agent: in params._meta.reins.agent, or as ?agent=");
  const kept = await connections.open("acp", call.principal, agent);
  const method = "initialize";
  const deadline = deadlineFor({ method, session: undefined }, { hub: hosting.hub, clock, patience });
  try {
    hosting.catalogue.entry(agent);
    const { signal } = new AbortController();
    const result = await Promise.race([kept.connection.request(method, params, signal), deadline.passed]);
    if (result === "late") throw new HttpProblem("gateway_timeout", "the agent has not answered");
    await kept.settled();
    call.header(ACP_CONNECTION, kept.connection.id);
    return { status: 200, text: JSON.stringify({ jsonrpc: "2.0", id, result }) };
  } catch (error) {
    await connections.close("acp", kept.connection.id, call.principal);
    throw agentProblem(error);
  } finally {
    deadline.cancel();
  }
}

/**
 * The session of a message. The header lets a proxy route by it; the official Python client omits it in some
 * messages.
 */
function sessionOf({ request }: AcpCall, method: string, { sessionId }: JsonObject): string | undefined {
  const named = headerOf(request, ACP_SESSION);
  const told = typeof sessionId === "string" ? sessionId : undefined;
  if (named === undefined && sessionId === undefined && OF_SESSIONS.has(method))
    throw new HttpProblem("invalid", `${method} needs a sessionId`);
  if (named !== undefined && sessionId !== undefined && named !== sessionId)
    throw new HttpProblem("invalid", `the header ${ACP_SESSION} names another session than the message`);
  return named ?? told;
}

/** Rejects an answer whose header names another session than the question's. */
function expectSessionOf({ request }: AcpCall, { hosting }: Serving, id: RequestId): void {
  const key = questionIn(id);
  const asking = key === undefined ? undefined : hosting.hub.asking(key);
  const named = headerOf(request, ACP_SESSION);
  if (asking && named !== undefined && named !== asking.session)
    throw new HttpProblem(
      "invalid",
      `the header ${ACP_SESSION} names another session than the one that asked`,
    );
}
