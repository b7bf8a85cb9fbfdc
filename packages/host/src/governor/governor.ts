import { randomUUID } from "node:crypto";
import type { Decided, Enforcement, Harness, NetworkReach, Principal, ReportKind } from "@reins/supervisor";
import type { Channel } from "../acp/channel.ts";
import { isObject, type JsonObject, membersOf } from "../acp/message.ts";
import { Peer, type RequestCall } from "../acp/peer.ts";
import { CODE, RpcError } from "../acp/rpc-error.ts";
import type { AgentEntry } from "../agents/agent-entry.ts";
import type { AgentLaunch } from "../agents/agent-launch.ts";
import type { McpGateway } from "../mcp/gateway.ts";
import { within } from "../process/within.ts";
import { newSessionRecord } from "../sessions/new-session.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import { sessionTables } from "../sessions/tables.ts";
import { borderedChannel } from "../wire/agent-border.ts";
import type { Clients } from "./clients.ts";
import { forwardIn, type GovernorContext, subjectIn, type TurnPreparation } from "./context.ts";
import type { Descent } from "./descent.ts";
import { FILE_METHODS, serveFile } from "./file-system.ts";
import { GovernedSession } from "./governed-session.ts";
import { Judge } from "./judge.ts";
import { isCustom, mayKnow } from "./known-methods.ts";
import { answerPermission } from "./permission.ts";
import { CANCELLED, type PermissionOutcome } from "./permission-options.ts";
import { cancelTurn, cutTurn, decidePrompt, runTurn } from "./prompts.ts";
import { REFUSED, refusal } from "./refusal.ts";
import { beginSession, endSession, SESSION_CALLS } from "./session-calls.ts";
import { SessionFolders } from "./session-folders.ts";
import { endServers } from "./session-servers.ts";
import { settingsOf, typedOption } from "./settings.ts";
import { noteBeside, showUpdate } from "./shown-updates.ts";
import { askClients, CREATE_TERMINAL, createTerminal } from "./terminals.ts";
import type { TurnUsage } from "./turn.ts";
import { mayWork, noticeUpdate } from "./unprompted.ts";
import { takeUpdate, tellsState } from "./updates.ts";
import { decideAs, mayPass } from "./wishes.ts";

/** What a governor is made from. */
export interface GovernorOptions {
  readonly harness: Harness;
  readonly entry: AgentEntry;
  readonly launch: Pick<AgentLaunch, "mode" | "configOptions" | "meta" | "strip"> &
    Partial<Pick<AgentLaunch, "env">>;
  /** The way to the agent. */
  readonly channel: Channel;
  readonly principal: Principal;
  /** Which folders sessions may work in; by default those that need no configuration. */
  readonly folders?: SessionFolders | undefined;
  readonly enforcement: Enforcement;
  /** The same for tools of which another thing holds. */
  readonly enforcementOf?: ((tool: string) => Enforcement | undefined) | undefined;
  /** What the operating system lets the agent reach over the network, where it confines it. */
  readonly network?: NetworkReach | undefined;
  /**
   * Whether it is Reins's own agent: it has each request to its model decided, so that a prompt needs no verdict of its
   * own; tells of its tasks itself; and does what a verdict made of a call.
   */
  readonly isOurs?: boolean;
  /** Where sessions are begun from: the middle of their keys. */
  readonly from: string;
  /** The clients of a session. */
  readonly clients: (session: GovernedSession) => Clients;
  readonly servers?: Pick<McpGateway, "wrap"> | undefined;
  readonly preparation?: TurnPreparation | undefined;
  /** How long an agent may take to end a turn that was cancelled. */
  readonly cancelGraceMs?: number | undefined;
  readonly now?: () => Date;
  readonly newId?: () => string;
  readonly onFault?: (reason: string) => void;
  /** Ends the agent when it does not stop what nobody asked it to do. */
  readonly stop?: ((reason: string) => void) | undefined;
  /** Told which sessions it governs, whenever they are others. */
  readonly onSessions?: ((ids: readonly string[]) => void) | undefined;
  /** Whether what an agent tells again when it takes up a session is shown; not where a log has it already. */
  readonly showReplays?: boolean;
}

/** How a client's request comes. */
export interface GovernedCall extends Pick<RequestCall, "signal"> {
  /** For one that begins a session: what whoever begins it knows it by before it has a name. */
  readonly mark?: string | undefined;
  /** What it stands under, where another session begins it. */
  readonly descent?: Descent | undefined;
  /** When it was begun, where it waited for its agent; by default now. */
  readonly begun?: Date | undefined;
}

/** What an agent may ask of the clients of a session beside leave: terminals, forms, and questions in the older form. */
const FOR_CLIENTS = /^(terminal\/|elicitation\/|_sandboxagent\/session\/request_question$)/;

/** What ACP has agents tell about no session. */
const TOLD_OUTSIDE: ReadonlySet<string> = new Set(["elicitation/complete", "auth/status_update"]);
/** How long an agent may take to end a turn that was cancelled, where the operator says nothing else. */
const CANCEL_GRACE_MS = 10_000;
/** What an agent may ask only in a turn. */
const ACTS = new Set(["session/request_permission", CREATE_TERMINAL, ...FILE_METHODS]);

/** How long a turn may take to end after its session was closed. */
const ENDING_MS = 2_000;

/**
 * Stands between clients and an agent. ACP goes in and comes out as it is; every step that matters becomes a control
 * event, and what the verdict says is done.
 */
export class Governor {
  readonly #context: GovernorContext;
  readonly #from: string;
  readonly #showReplays: boolean;
  readonly #sessions = new Map<string, GovernedSession>();
  readonly #byAgentId = new Map<string, GovernedSession>();
  readonly #onSessions: GovernorOptions["onSessions"];
  #initialized: JsonObject = {};

  constructor(options: GovernorOptions) {
    const {
      harness,
      channel,
      now = () => new Date(),
      newId = randomUUID,
      onFault = () => undefined,
    } = options;
    this.#from = options.from;
    this.#onSessions = options.onSessions;
    this.#showReplays = options.showReplays ?? true;
    // Our own agent is part of Reins.
    const bordered = options.isOurs ? channel : borderedChannel(channel, onFault);
    const agent = new Peer(bordered, {
      request: (method, params, call) => this.#fromAgent(method, membersOf(params), call),
      notification: (method, params) => this.#toldByAgent(method, membersOf(params)),
      fault: onFault,
    });
    this.#context = {
      harness,
      judge: new Judge(harness),
      entry: options.entry,
      launch: options.launch,
      enforcement: options.enforcement,
      enforcementOf: options.enforcementOf,
      network: options.network,
      isOurs: options.isOurs ?? false,
      principal: options.principal,
      folders: options.folders ?? new SessionFolders({ harness }),
      agent,
      clients: options.clients,
      servers: options.servers,
      preparation: options.preparation,
      redact: harness.redact,
      cancelGraceMs: options.cancelGraceMs ?? CANCEL_GRACE_MS,
      now,
      newId,
      onFault,
      stop: options.stop,
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

  /** Decides about something that only the agent itself can see. */
  async decideFor(
    agentSessionId: string,
    event_type: string,
    payload: unknown,
    signal: AbortSignal,
  ): Promise<Decided> {
    const session = this.#byAgentId.get(agentSessionId);
    if (!session) throw new RpcError(CODE.notFound, `there is no session ${agentSessionId}`);
    const waiting = { signal };
    const decided = await decidePrompt(this.#context, session, { event_type, payload, waiting });
    if (decided.entry !== undefined) session.turn?.entries.push(decided.entry);
    return decided;
  }

  /** Settles a request to a model that was let through: what it used counts towards limits. */
  async charge(agentSessionId: string, usage: TurnUsage): Promise<void> {
    const session = this.#byAgentId.get(agentSessionId);
    if (!session) return;
    const subject = subjectIn(this.#context, session, this.#context.enforcement);
    await this.#context.harness.supervisor.settle(subject, { event_type: "pre_prompt" }, usage);
  }

  /** Keeps what the agent reports of itself in a session, and forwards it to other harnesses that list it. */
  async report(agentSessionId: string, kind: ReportKind, payload: unknown): Promise<void> {
    const session = this.#byAgentId.get(agentSessionId);
    if (!session) return;
    forwardIn(this.#context, session, kind, payload);
    const subject = subjectIn(this.#context, session, this.#context.enforcement);
    await this.#context.harness.reports.note(subject, kind, payload);
  }

  /** A heartbeat is of the agent, and so of each of its sessions that has a turn. */
  heartbeat(payload: unknown): void {
    for (const [agentSessionId, { turn }] of this.#byAgentId)
      if (turn)
        this.report(agentSessionId, "heartbeat", payload).catch((error: unknown) =>
          this.#context.onFault(`heartbeat: ${String(error)}`),
        );
  }

  /** Forwards a contract of the agent's run to other harnesses that list it. */
  forward(agentSessionId: string, event_type: string, payload: unknown): void {
    const session = this.#byAgentId.get(agentSessionId);
    if (session) forwardIn(this.#context, session, event_type, payload);
  }

  /** Says hello to the agent; `clientCapabilities` are what the clients can do. */
  async initialize(params: JsonObject): Promise<JsonObject> {
    const { entry, agent } = this.#context;
    const serves = entry.quirks?.fs !== "breaks" && entry.quirks?.fs !== "ignores";
    const offered = {
      ...membersOf(params.clientCapabilities),
      fs: { readTextFile: serves, writeTextFile: serves },
    };
    const answer = membersOf(await agent.request("initialize", { ...params, clientCapabilities: offered }));
    this.#initialized = answer;
    return answer;
  }

  /** Answers a client. */
  async request(method: string, given: unknown, call: GovernedCall): Promise<unknown> {
    const params = membersOf(given);
    const { signal } = call;
    if (method === "initialize") return this.initialize(params);
    if (SESSION_CALLS.has(method)) return this.#begin(method, params, call);
    if (params.sessionId === undefined) {
      this.#expectKnown(method);
      return this.#control(method, params, signal);
    }
    const session = this.#expect(params.sessionId);
    switch (method) {
      case "session/prompt":
        return this.#prompt(session, params, signal);
      case "session/close":
      case "session/delete":
        return this.#close(session, method, params);
      default:
        this.#expectKnown(method);
        return this.#set(session, method, params, signal);
    }
  }

  /** Takes a notification of a client. */
  async notification(method: string, given: unknown): Promise<void> {
    const params = membersOf(given);
    const session = typeof params.sessionId === "string" ? this.#sessions.get(params.sessionId) : undefined;
    if (method === "session/cancel") {
      if (session?.turn) await cancelTurn(this.#context, session, "the turn was cancelled");
      else if (session) await this.#context.agent.notify(method, this.#forAgent(session, params));
      return;
    }
    // As in ACP, a notification that the agent does not know is passed over.
    const { entry, agent, isOurs } = this.#context;
    if (!mayKnow(method, isOurs, this.#initialized)) return;
    // What an agent is told may do as much as what it is asked, but nobody waits for people to decide about it.
    const args = settingsOf(method, params, entry);
    const wish = { event_type: "pre_action", tool: method, args };
    const { verdict } = await mayPass(this.#context, session ?? this.#outside(), wish);
    if (verdict === "allowed") await agent.notify(method, session ? this.#forAgent(session, params) : params);
  }

  /** Cuts off the turn of a session because Reins stops. */
  async cut(id: string, onCut: () => void): Promise<void> {
    const session = this.#sessions.get(id);
    if (session) await cutTurn(this.#context, session, onCut);
  }

  /** Ends every session; the agent itself is the caller's. */
  async close(reason: string): Promise<void> {
    for (const session of this.#sessions.values()) session.turn?.cancel(reason);
    await Promise.allSettled([...this.#sessions.values()].map((session) => this.#forget(session, reason)));
  }

  async #begin(
    method: string,
    params: JsonObject,
    { signal, mark, descent, begun }: GovernedCall,
  ): Promise<unknown> {
    const earlier = params.sessionId === undefined ? undefined : await this.#kept(params.sessionId);
    const open = earlier && this.#sessions.get(earlier.id);
    if (open?.turn) throw new RpcError(CODE.invalidRequest, "a turn is under way in this session");
    try {
      return await beginSession(this.#context, {
        method,
        params,
        earlier,
        channel: this.#from,
        signal,
        mark,
        descent,
        begun,
        known: (begun) => this.#know(begun),
        failed: (begun) => this.#drop(begun),
      });
    } finally {
      // One that was taken up anew has servers of its own by now.
      if (open && this.#sessions.get(open.id) !== open) await endServers(open);
    }
  }

  async #prompt(session: GovernedSession, params: JsonObject, signal: AbortSignal): Promise<unknown> {
    if (session.turn) throw new RpcError(CODE.invalidRequest, "a turn is under way in this session");
    return runTurn(this.#context, session, params, signal);
  }

  async #close(session: GovernedSession, method: string, params: JsonObject): Promise<unknown> {
    session.isClosing = true;
    await cancelTurn(this.#context, session, "the session was closed");
    const result = await this.#context.agent
      .request(method, this.#forAgent(session, params))
      .catch((error: unknown) => {
        // An agent that cannot close sessions has nothing to close.
        if (error instanceof RpcError && error.code === CODE.methodNotFound) return {};
        session.isClosing = false;
        throw error;
      });
    // An agent may never answer the prompt of a session that it has closed.
    await within(session.turnOver, ENDING_MS);
    await this.#forget(session, "the session was closed");
    return result;
  }

  /** A change of a session's settings, or anything else a client wants of it, is a control point. */
  async #set(
    session: GovernedSession,
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { entry, agent } = this.#context;
    const args = settingsOf(method, params, entry);
    const decided = await decideAs(this.#context, session, {
      event_type: "pre_action",
      tool: method,
      args,
      signal,
    });
    if (decided.verdict !== "allowed") throw await refusal(method, decided);
    const wanted = method === "session/set_config_option" ? typedOption(params) : params;
    const result = await agent.request(method, this.#forAgent(session, wanted), { signal });
    if (method === "session/set_mode" && typeof params.modeId === "string") session.mode = params.modeId;
    return result;
  }

  /** What a client wants of the agent outside of any session is a control point too. */
  async #control(method: string, params: JsonObject, signal: AbortSignal): Promise<unknown> {
    const { entry, agent } = this.#context;
    const session = this.#outside();
    const args = settingsOf(method, params, entry);
    const decided = await decideAs(this.#context, session, {
      event_type: "pre_action",
      tool: method,
      args,
      signal,
    });
    if (decided.verdict !== "allowed") throw await refusal(method, decided);
    return agent.request(method, params, { signal });
  }

  async #fromAgent(method: string, params: JsonObject, { signal }: RequestCall): Promise<unknown> {
    const session = this.#byAgentId.get(String(params.sessionId));
    if (!session) throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
    const acts = ACTS.has(method);
    if (acts && !(await mayWork(this.#context, session, method))) return refuseUnprompted(method);
    if (method === "session/request_permission")
      return answerPermission(this.#context, session, params, signal);
    if (FILE_METHODS.has(method)) return serveFile(this.#context, session, method, params, signal);
    if (method === CREATE_TERMINAL) return createTerminal(this.#context, session, params, signal);
    if (!FOR_CLIENTS.test(method)) {
      if (!isCustom(method)) throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
      const { sessionId: _, ...args } = params;
      return askClients(this.#context, session, { method, params, args }, signal);
    }
    const waiting = session.turn ? AbortSignal.any([signal, session.turn.signal]) : signal;
    const asked = { ...params, sessionId: session.id };
    return (await this.#context.clients(session).request(method, asked, waiting)).value;
  }

  #toldByAgent(method: string, params: JsonObject): void | Promise<void> {
    if (params.sessionId === undefined) return this.#toldOutside(method, params);
    const session = this.#byAgentId.get(String(params.sessionId));
    if (!session || (session.replaying && !this.#showReplays && !tellsState(membersOf(params.update))))
      return;
    const { clients, redact } = this.#context;
    if (method !== "session/update" || !isObject(params.update))
      return clients(session).notify(method, membersOf(redact({ ...params, sessionId: session.id })));
    const tell = (update: JsonObject) =>
      session.isClosing ? undefined : showUpdate(this.#context, session, update);
    noticeUpdate(this.#context, session, params.update);
    noteBeside(this.#context, session, params);
    // Most updates need no waiting, and thousands of them come at once.
    const taken = takeUpdate(this.#context, session, params.update);
    return taken instanceof Promise ? taken.then(tell) : tell(taken);
  }

  /** What an agent tells outside of any session is for the clients of all that it has. */
  async #toldOutside(method: string, params: JsonObject): Promise<void> {
    if (!isCustom(method) && !TOLD_OUTSIDE.has(method)) return;
    const { clients, redact } = this.#context;
    const told = membersOf(redact(params));
    for (const session of this.#sessions.values()) await clients(session).notify(method, told);
  }

  #know(session: GovernedSession): void {
    session.idleSince = this.#context.now().getTime();
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

  async #forget(session: GovernedSession, reason: string): Promise<void> {
    this.#drop(session);
    // The last turn stands in the ledger before the end of its session.
    await session.placed;
    await endSession(this.#context, session, reason);
  }

  /** Answers at once for a method that the agent does not know, instead of asking a person about it. */
  #expectKnown(method: string): void {
    const { isOurs, entry } = this.#context;
    if (mayKnow(method, isOurs, this.#initialized)) return;
    throw new RpcError(CODE.methodNotFound, `${entry.name} does not know "${method}"`);
  }

  #expect(id: unknown): GovernedSession {
    const session = typeof id === "string" ? this.#sessions.get(id) : undefined;
    if (session) return session;
    throw new RpcError(CODE.notFound, `there is no session ${JSON.stringify(id)} here; load it first`);
  }

  async #kept(id: unknown): Promise<SessionRecord> {
    const { harness, principal, entry } = this.#context;
    const { tenant } = principal;
    const kept =
      typeof id === "string" ? await harness.store.query(sessionTables, "get", { id, tenant }) : undefined;
    if (kept?.agent === entry.id && (kept.principal === principal.id || principal.roles.includes("admin")))
      return kept;
    throw new RpcError(CODE.notFound, `there is no session ${JSON.stringify(id)} of ${entry.id}`);
  }

  /** Stands for what happens outside of any session. */
  #outside(): GovernedSession {
    const { entry, principal, now, harness } = this.#context;
    const made = {
      agent: entry.id,
      principal,
      channel: this.#from,
      peer: "connection",
      created: now(),
      cwd: harness.home,
    };
    return new GovernedSession(newSessionRecord(made), { cwd: harness.home, roots: [] });
  }

  #forAgent(session: GovernedSession, params: JsonObject): JsonObject {
    return { ...params, sessionId: session.agentSessionId };
  }
}

/** What an agent is answered that works although nobody prompted it. */
function refuseUnprompted(method: string): PermissionOutcome {
  if (method === "session/request_permission") return CANCELLED;
  throw new RpcError(REFUSED, `${method} was not allowed: nobody prompted the agent`);
}
