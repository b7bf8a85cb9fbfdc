import { randomUUID } from "node:crypto";
import {
  type Channel,
  CODE,
  isObject,
  type JsonObject,
  Peer,
  type RequestCall,
  RpcError,
  readParams,
} from "@reins/acp";
import { LruCache, settlesWithin } from "@reins/kit";
import { THIRD_PARTY } from "../control/agent-profile.ts";
import type { Clients, SessionPort } from "../control/ask-clients.ts";
import type { Descent } from "../control/scope.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import { borderedChannel } from "../wire/agent-channel.ts";
import { answerAgent, notKnown } from "./agent-requests.ts";
import { forAgent, forwardNotification, forwardRequest, outsideOfSessions } from "./client-requests.ts";
import type { GovernorContext } from "./context.ts";
import { type GovernedSession, StandaloneSession } from "./governed-session.ts";
import { mayKnow, mayNotify } from "./known-methods.ts";
import { endServers } from "./mcp-servers.ts";
import { cancelTurn, cutTurn, runTurn } from "./run-turn.ts";
import { beginSession, keptSession, recordEnd, releaseSession, SESSION_CALLS } from "./session-calls.ts";
import { SessionFolders } from "./session-folders.ts";
import { noteUnended } from "./ungated.ts";
import {
  forwardFromAgent,
  forwardFromChild,
  isNewCall,
  isStateUpdate,
  recordStray,
  redactObject,
} from "./updates.ts";

/** What has a default: a third-party agent, the machine's clock, folders that need no configuration, ten seconds of grace. */
type Defaulted = "folders" | "profile" | "cancelGraceMs" | "now" | "newId" | "onFault";

/** The agent and its surroundings. */
export interface GovernorOptions
  extends Omit<GovernorContext, "agent" | "ownerOf" | Defaulted>,
    Readonly<{ [Name in Defaulted]?: GovernorContext[Name] | undefined }> {
  /** The way to the agent. */
  readonly channel: Channel;
  /** Where sessions are begun from: the middle of their keys. */
  readonly from: string;
  /** The clients of a session that a call names no owner for. */
  readonly clients: (record: SessionRecord) => Clients;
  /** Receives the sessions that it governs whenever they change. */
  readonly onSessions?: ((ids: readonly string[]) => void) | undefined;
  /** Whether clients see what an agent replays when it loads a session; not where a log has it. */
  readonly showReplays?: boolean;
}

/** The circumstances of a client's request. */
export interface GovernedCall extends Pick<RequestCall, "signal"> {
  /** The session that is resumed or forked, as its owner has it; by default as it is stored. */
  readonly earlier?: SessionRecord | undefined;
  /** Registers the session of a record with its owner; by default, the governor stores it itself. */
  readonly open?: ((record: SessionRecord) => SessionPort) | undefined;
  /** Its limits, where another session begins it. */
  readonly descent?: Descent | undefined;
  /** When it was begun, where it waited for its agent; by default now. */
  readonly begun?: Date | undefined;
}

/** How long an agent may take to end a turn that was cancelled, where the operator says nothing else. */
const CANCEL_GRACE_MS = 10_000;
/** How long a turn may take to end after its session was closed. */
const ENDING_MS = 2_000;

/** How many closed sessions of an agent are remembered. */
const MOST_CLOSED = 100;

/** Sits between clients and an agent: forwards ACP unchanged, and enforces every control point in it. */
export class Governor {
  readonly #context: GovernorContext;
  readonly #from: string;
  readonly #showReplays: boolean;
  readonly #sessions = new Map<string, GovernedSession>();
  readonly #byAgentId = new Map<string, GovernedSession>();
  /** Sessions that were closed, by the agent's ids: an agent may go on in them. */
  readonly #closed = new LruCache<string, GovernedSession>({ entries: MOST_CLOSED });
  /** Receives what the agent does in sessions that Reins does not know. */
  #unknown: GovernedSession | undefined;
  readonly #onSessions: GovernorOptions["onSessions"];
  #initialized: JsonObject = {};

  constructor({ channel, from, clients, onSessions, showReplays = true, ...options }: GovernorOptions) {
    const { harness, profile = THIRD_PARTY, onFault = () => undefined } = options;
    this.#from = from;
    this.#onSessions = onSessions;
    this.#showReplays = showReplays;
    const replays = (id: unknown) => this.#byAgentId.get(String(id))?.replaying ?? false;
    const bordered = profile.isObserved ? borderedChannel(channel, { onFault, replays }) : channel;
    const agent = new Peer(bordered, {
      request: (method, params, call) => this.#fromAgent(method, params, call),
      notification: (method, params) => this.#notified(method, params),
      fault: onFault,
    });
    this.#context = {
      ...options,
      profile,
      onFault,
      agent,
      folders: options.folders ?? new SessionFolders({ harness }),
      ownerOf: (record) => new StandaloneSession(harness, record, clients(record)),
      cancelGraceMs: options.cancelGraceMs ?? CANCEL_GRACE_MS,
      now: options.now ?? (() => new Date()),
      newId: options.newId ?? randomUUID,
    };
  }

  /** Aborts when the agent has gone. */
  get signal(): AbortSignal {
    return this.#context.agent.signal;
  }

  /** What the agent said of itself. */
  get initialized(): JsonObject {
    return this.#initialized;
  }

  /** A session that is open here. */
  session(id: string): GovernedSession | undefined {
    return this.#sessions.get(id);
  }

  /** A session by what the agent calls it. */
  sessionOf(agentSessionId: string): GovernedSession | undefined {
    return this.#byAgentId.get(agentSessionId);
  }

  /** The sessions that are open here. */
  get sessions(): readonly GovernedSession[] {
    return [...this.#sessions.values()];
  }

  /** Initializes the agent with what its clients can do. */
  async initialize(params: JsonObject): Promise<JsonObject> {
    const { entry, agent } = this.#context;
    const serves = entry.quirks?.fs !== "breaks" && entry.quirks?.fs !== "ignores";
    const offered = {
      ...readParams("initialize", params).clientCapabilities,
      fs: { readTextFile: serves, writeTextFile: serves },
    };
    const answer = await agent.request("initialize", { ...params, clientCapabilities: offered });
    this.#initialized = isObject(answer) ? answer : {};
    return this.#initialized;
  }

  /** Answers a client. */
  async request(method: string, params: JsonObject, call: GovernedCall): Promise<unknown> {
    const { signal } = call;
    if (method === "initialize") return this.initialize(params);
    if (SESSION_CALLS.has(method)) return this.#begin(method, params, call);
    if (params.sessionId === undefined) {
      this.#expectKnown(method);
      return forwardRequest(this.#outside(), { method, params, signal });
    }
    const session = this.#expect(params);
    switch (method) {
      case "session/prompt":
        if (session.turn) throw new RpcError(CODE.invalidRequest, "a turn is under way in this session");
        return runTurn(session, params, signal);
      case "session/close":
      case "session/delete":
        return this.#close(session, method, params);
      default:
        this.#expectKnown(method);
        return forwardRequest(session, { method, params, signal });
    }
  }

  /** Handles a notification of a client. */
  async notification(method: string, params: JsonObject): Promise<void> {
    const { sessionId = "" } = readParams("session/cancel", params);
    const session = this.#sessions.get(sessionId);
    if (method === "session/cancel") {
      if (session?.turn) await cancelTurn(session, "the turn was cancelled");
      else if (session) await this.#context.agent.notify(method, forAgent(session, params));
      return;
    }
    // As in ACP, a notification that the agent does not know is ignored.
    if (!mayKnow(method, this.#context.profile, this.#initialized)) return;
    await forwardNotification(session ?? this.#outside(), { method, params });
  }

  /** Cuts off the turn of a session because Reins stops. */
  async cut(id: string, onCut: () => void): Promise<void> {
    const session = this.#sessions.get(id);
    if (session) await cutTurn(session, onCut);
  }

  /**
   * Ends every session because the agent ends, which `stop` sees to. A turn ends with the agent; the ends of sessions are
   * recorded after it.
   */
  async close(reason: string, stop: () => Promise<void> = async () => undefined): Promise<void> {
    const { sessions } = this;
    for (const { turn } of sessions) turn?.cancel(reason);
    const released = sessions.map(async (session) => {
      this.#drop(session);
      await releaseSession(session, { reason, ends: "agent", turn: session.turn });
    });
    try {
      await Promise.allSettled(released);
      await stop();
    } finally {
      await Promise.allSettled(sessions.map((session) => this.#recordEnd(session, reason)));
    }
  }

  async #begin(
    method: string,
    params: JsonObject,
    { signal, descent, begun, earlier: given, open: register }: GovernedCall,
  ): Promise<unknown> {
    const earlier =
      params.sessionId === undefined ? undefined : await keptSession(this.#context, params.sessionId, given);
    const open = earlier && this.#sessions.get(earlier.id);
    if (open?.turn) throw new RpcError(CODE.invalidRequest, "a turn is under way in this session");
    try {
      return await beginSession(this.#context, {
        method,
        params,
        earlier,
        channel: this.#from,
        signal,
        open: register ?? this.#context.ownerOf,
        descent,
        begun,
        known: (begun) => this.#know(begun),
        failed: (begun) => this.#drop(begun),
      });
    } finally {
      // A resumed session has servers of its own by now.
      if (open && this.#sessions.get(open.id) !== open) await endServers(open);
    }
  }

  async #close(session: GovernedSession, method: string, params: JsonObject): Promise<unknown> {
    session.isClosing = true;
    await cancelTurn(session, "the session was closed");
    const result = await this.#context.agent
      .request(method, forAgent(session, params))
      .catch((error: unknown) => {
        // An agent that cannot close sessions has nothing to close.
        if (error instanceof RpcError && error.code === CODE.methodNotFound) return {};
        session.isClosing = false;
        throw error;
      });
    const reason = "the session was closed";
    await settlesWithin(session.turnOver, ENDING_MS);
    this.#drop(session);
    this.#closed.set(session.agentSessionId, session);
    await releaseSession(session, { reason, ends: "session" });
    await this.#recordEnd(session, reason);
    session.isClosed = true;
    return result;
  }

  async #fromAgent(method: string, params: JsonObject, { signal }: RequestCall): Promise<unknown> {
    const session = this.#byAgentId.get(String(params.sessionId));
    if (!session) throw notKnown(method);
    const initialized = this.#initialized;
    return answerAgent(session, { method, params, initialized }, signal);
  }

  #notified(method: string, params: JsonObject): void | Promise<void> {
    const isUpdate = method === "session/update";
    if (params.sessionId === undefined)
      return isUpdate ? recordStray(this.#strayFor(""), params) : this.#notifiedOutside(method, params);
    const id = String(params.sessionId);
    const session = this.#byAgentId.get(id);
    if (!session) {
      const parent = this.sessions.find(({ children }) => children.has(id));
      if (parent) return forwardFromChild(parent, params);
      return isUpdate ? recordStray(this.#strayFor(id), params) : undefined;
    }
    if (session.replaying && !this.#showReplays && !isStateUpdate(params) && !isNewCall(session, params))
      return;
    return forwardFromAgent(session, method, params);
  }

  /** The session that what an agent reports under an id without an open session is recorded against. */
  #strayFor(id: string): GovernedSession {
    const closed = this.#closed.get(id);
    if (closed) return closed;
    this.#unknown ??= this.#outside();
    this.#unknown.isClosed = true;
    this.#unknown.agentSessionId = id;
    return this.#unknown;
  }

  /** Sends what an agent reports outside of any session to the clients of all its sessions. */
  async #notifiedOutside(method: string, params: JsonObject): Promise<void> {
    if (!mayNotify(method)) return;
    const clean = redactObject(this.#context.harness.redact, params);
    for (const session of this.#sessions.values()) await session.clients.notify(method, clean);
  }

  #know(session: GovernedSession): void {
    session.idleSince = this.#context.now().getTime();
    const { agentSessionId } = session;
    const former = this.#byAgentId.get(agentSessionId) ?? this.#closed.get(agentSessionId);
    if (former && former !== session && former.id === session.id) session.continueCalls(former);
    this.#sessions.set(session.id, session);
    if (session.agentSessionId !== "") this.#byAgentId.set(session.agentSessionId, session);
    this.#onSessions?.([...this.#sessions.keys()]);
  }

  /** Knows a session no more, unless another one has its name by now. */
  #drop(session: GovernedSession): void {
    const { id, agentSessionId } = session;
    if (this.#sessions.get(id) === session) this.#sessions.delete(id);
    if (this.#byAgentId.get(agentSessionId) === session) this.#byAgentId.delete(agentSessionId);
    this.#onSessions?.([...this.#sessions.keys()]);
  }

  /** Records the end of a session after its last turn. An agent may never answer the prompt of one that it has closed. */
  async #recordEnd(session: GovernedSession, reason: string): Promise<void> {
    if (!session.isCut) await settlesWithin(session.turnOver, ENDING_MS);
    await session.placed;
    if (session.hasToolCalls && !session.isCut) await noteUnended(session, { isCancelled: true });
    await recordEnd(session, reason);
  }

  /** Answers at once for a method that the agent does not know, instead of asking a person about it. */
  #expectKnown(method: string): void {
    const { profile, entry } = this.#context;
    if (mayKnow(method, profile, this.#initialized)) return;
    throw new RpcError(CODE.methodNotFound, `${entry.name} does not know "${method}"`);
  }

  #expect(params: JsonObject): GovernedSession {
    const { sessionId: id = "" } = readParams("session/cancel", params);
    const session = this.#sessions.get(id);
    if (session) return session;
    throw new RpcError(
      CODE.notFound,
      `there is no session ${JSON.stringify(params.sessionId)} here; load it first`,
    );
  }

  #outside(): GovernedSession {
    return outsideOfSessions(this.#context, this.#from);
  }
}
