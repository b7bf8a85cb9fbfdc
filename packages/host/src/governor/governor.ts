import crypto from "node:crypto";
import {
  CODE,
  isObject,
  type JsonObject,
  membersOf,
  Peer,
  type RequestCall,
  RpcError,
  readParams,
} from "@reins/acp";
import { isBridgeMethod } from "@reins/bridge";
import { LruCache, settlesWithin } from "@reins/kit";
import { type Descent, THIRD_PARTY } from "../control/scope.ts";
import { StandaloneSession } from "../sessions/standalone-session.ts";
import { borderedChannel, forwardable } from "../wire/agent-channel.ts";
import { answerAgent, notKnown } from "./agent-requests.ts";
import { forAgent, forwardNotification, forwardRequest, outsideOfSessions } from "./client-requests.ts";
import type { GovernedCall, GovernorContext, GovernorOptions } from "./context.ts";
import type { GovernedSession } from "./governed-session.ts";
import { mayKnow, mayNotify } from "./known-methods.ts";
import { endServers } from "./mcp-servers.ts";
import { cancelTurn, cutTurn, runTurn, withdrawIn } from "./run-turn.ts";
import { beginSession, keptSession, recordEnd, releaseSession, SESSION_CALLS } from "./session-calls.ts";
import { SessionFolders } from "./session-folders.ts";
import { type Steering, steerTurn } from "./steer-turn.ts";
import { noteUnended } from "./ungated.ts";
import {
  forwardFromAgent,
  forwardFromChild,
  isReplayed,
  isStateUpdate,
  recordStray,
  redactObject,
} from "./updates.ts";

/** How long an agent may take to end a turn that was cancelled, where the operator says nothing else. */
const CANCEL_GRACE_MS = 10_000;
/** How long a turn may take to end after its session was closed. */
const ENDING_MS = 2_000;

/** How many sessions are remembered that an agent may go on in, though they were closed or are not known. */
const MOST_STRAYS = 100;

/** Sits between clients and an agent: forwards ACP unchanged, and enforces every control point in it. */
export class Governor {
  readonly #context: GovernorContext;
  readonly #from: string;
  readonly #showReplays: boolean;
  readonly #sessions = new Map<string, GovernedSession>();
  readonly #byAgentId = new Map<string, GovernedSession>();
  /** Sessions that are being closed, until their end is recorded. */
  readonly #closing = new Map<string, Promise<unknown>>();
  /** Sessions that were closed or are not known, by the agent's ids: an agent may report work in them. */
  readonly #strays = new LruCache<string, GovernedSession>({ entries: MOST_STRAYS });
  readonly #onSessions: GovernorOptions["onSessions"];
  readonly #unwatch: () => void;
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
      // In the order of time, so that rows with such a key are appended; the oldest Node that is supported has only random ones.
      newId: options.newId ?? crypto.randomUUIDv7 ?? crypto.randomUUID,
    };
    const onLost = (reason: string) => void this.#expel(reason).catch((error) => onFault(String(error)));
    this.#unwatch = harness.identity.watch(options.principal, onLost);
    agent.signal.addEventListener("abort", this.#unwatch, { once: true });
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
  async request(method: string, sent: JsonObject, call: GovernedCall): Promise<unknown> {
    const { signal } = call;
    // A start of a session is filtered on the record.
    if (SESSION_CALLS.has(method)) return this.#begin(method, sent, call);
    const params = forwardable(this.#context.launch, method, sent);
    if (method === "initialize") return this.initialize(params);
    if (params.sessionId === undefined) {
      this.#expectKnown(method);
      return forwardRequest(this.#outside(), { method, params, signal });
    }
    const session = this.#expect(params);
    switch (method) {
      case "session/prompt":
        if (session.turn) throw new RpcError(CODE.invalidRequest, "a turn is under way in this session");
        if (session.isClosing) throw beingClosed();
        return runTurn(session, params, signal, call.by);
      case "session/close":
      case "session/delete":
        return this.#close(session, method, params);
      default:
        this.#expectKnown(method);
        return forwardRequest(session, { method, params, signal });
    }
  }

  /** Has the turn under way in a session take a prompt; see {@link steerTurn}. */
  async steer(id: string, sent: JsonObject, steering: Steering): Promise<JsonObject | undefined> {
    const session = this.#sessions.get(id);
    if (!session || session.isClosing) return undefined;
    return steerTurn(session, forwardable(this.#context.launch, "session/prompt", sent), steering);
  }

  /** Handles a notification of a client. */
  async notification(method: string, sent: JsonObject): Promise<void> {
    const params = forwardable(this.#context.launch, method, sent);
    const { sessionId = "" } = readParams("session/cancel", params);
    const session = this.#sessions.get(sessionId);
    if (method === "session/cancel") {
      if (session?.turn) await cancelTurn(session, "the turn was cancelled");
      else if (session) await this.#context.agent.notify(method, forAgent(session, params));
      return;
    }
    if ((method === "skills/update" || method === "host/tools/update") && session) {
      if (method === "host/tools/update") session.lentToolsChanged?.();
      await this.#context.agent.notify(method, { sessionId: session.agentSessionId });
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
    this.#unwatch();
    for (const { turn } of sessions) turn?.cancel(reason);
    const released = sessions.map(async (session) => {
      this.#drop(session);
      this.#strays.set(session.agentSessionId, session);
      await releaseSession(session, { reason, ends: "agent", turn: session.turn });
    });
    try {
      await Promise.allSettled(released);
      await stop();
    } finally {
      await Promise.allSettled(sessions.map((session) => this.#recordEnd(session, reason)));
    }
  }

  /** Cancels every turn and withdraws every approval of a principal that has lost its rights, then ends the agent. */
  async #expel(reason: string): Promise<void> {
    const { sessions } = this;
    const cancelled = sessions.map(async (session) => {
      await cancelTurn(session, reason);
      await withdrawIn(session, reason);
      await session.turnOver;
    });
    await settlesWithin(Promise.allSettled(cancelled), this.#context.cancelGraceMs);
    this.#context.stop?.(reason);
  }

  async #begin(
    method: string,
    params: JsonObject,
    { signal, descent, begun, earlier: given, open: register }: GovernedCall,
  ): Promise<unknown> {
    const earlier =
      params.sessionId === undefined ? undefined : await keptSession(this.#context, params.sessionId, given);
    const closing = earlier && this.#closing.get(earlier.id);
    // Its end would take what is begun meanwhile for its own, and come after it.
    const closed = closing?.catch(() => undefined);
    if (closed && !(await settlesWithin(closed, this.#context.cancelGraceMs))) throw beingClosed();
    const open = earlier && this.#sessions.get(earlier.id);
    if (open?.turn) throw new RpcError(CODE.invalidRequest, "a turn is under way in this session");
    this.#expectAlone(descent);
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

  /**
   * Refuses a session beside one of a subagent: which of its sessions an agent speaks in is its own word, so that the
   * limits of one would hold for none.
   */
  #expectAlone(descent: Descent | undefined): void {
    if (!this.#context.profile.isObserved) return;
    const { sessions } = this;
    if (descent ? sessions.length === 0 : !sessions.some((session) => session.descent)) return;
    throw new RpcError(CODE.internal, "the session of a subagent needs an agent of its own");
  }

  async #close(session: GovernedSession, method: string, params: JsonObject): Promise<unknown> {
    const closing = this.#closeNow(session, method, params);
    this.#closing.set(session.id, closing);
    try {
      return await closing;
    } finally {
      if (this.#closing.get(session.id) === closing) this.#closing.delete(session.id);
    }
  }

  async #closeNow(session: GovernedSession, method: string, params: JsonObject): Promise<unknown> {
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
    this.#strays.set(session.agentSessionId, session);
    await releaseSession(session, { reason, ends: "session" });
    await this.#recordEnd(session, reason);
    session.isClosed = true;
    return result;
  }

  async #fromAgent(method: string, params: JsonObject, { signal }: RequestCall): Promise<unknown> {
    // The methods of the bridge name no session by themselves.
    const [only, ...others] = isBridgeMethod(method) && params.sessionId === undefined ? this.sessions : [];
    const session = others.length === 0 && only ? only : this.#byAgentId.get(String(params.sessionId));
    if (!session) throw notKnown(method);
    const initialized = this.#initialized;
    return answerAgent(session, { method, params, initialized }, signal);
  }

  #notified(method: string, params: JsonObject): void | Promise<void> {
    const isUpdate = method === "session/update";
    if (params.sessionId === undefined && !isUpdate) return this.#notifiedOutside(method, params);
    const id = String(params.sessionId ?? "");
    const session = this.#byAgentId.get(id);
    if (!session) {
      const parent = this.sessions.find(({ children }) => children.has(id));
      if (parent) return forwardFromChild(parent, params);
      return isUpdate ? recordStray(this.#stray(id), params) : undefined;
    }
    const isHidden = !this.#showReplays && !isStateUpdate(params);
    if (isHidden && isReplayed(session, membersOf(params.update))) return;
    return forwardFromAgent(session, method, params);
  }

  /** The session against which is recorded what an agent reports under an id without an open session. */
  #stray(id: string): GovernedSession {
    const known = this.#strays.get(id);
    if (known) return known;
    const session = this.#outside();
    session.agentSessionId = id;
    session.isClosed = true;
    this.#strays.set(id, session);
    return session;
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
    const former = this.#byAgentId.get(agentSessionId) ?? this.#strays.get(agentSessionId);
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

function beingClosed(): RpcError {
  return new RpcError(CODE.invalidRequest, "the session is being closed");
}
