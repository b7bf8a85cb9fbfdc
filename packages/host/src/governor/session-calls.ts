import {
  CODE,
  isObject,
  type JsonObject,
  metaOf,
  RpcError,
  readResult,
  reinsMeta,
  withReinsMeta,
} from "@reins/acp";
import { sessionMeta, typedOption } from "@reins/agents";
import { errorMessage } from "@reins/kit";
import { lifecycleDraft, type Workspace } from "@reins/supervisor";
import type { SessionPort } from "../control/ask-clients.ts";
import { agentOf, recordedSubject } from "../control/control-point.ts";
import { CLIENT_DOORS, methodsAt } from "../control/doors.ts";
import { enforce } from "../control/enforce.ts";
import { mutationScopeIn, stricterScope } from "../control/mutation-scope.ts";
import { forwardIn, refusal } from "../control/outcome.ts";
import type { Descent } from "../control/scope.ts";
import { daemonIn, namingFault, namingIn, newSessionRecord, wakesIn } from "../sessions/new-session.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { AcceptedChanges } from "../sessions/session-state.ts";
import { openServers, sealServers } from "../sessions/sessions.ts";
import { sessionTables } from "../sessions/tables.ts";
import { wrapLentTools } from "./bridge-requests.ts";
import type { GovernorContext } from "./context.ts";
import { GovernedSession, type Turn } from "./governed-session.ts";
import { endServers, wrapServers } from "./mcp-servers.ts";
import { withdrawIn } from "./run-turn.ts";
import type { SessionPlace } from "./session-folders.ts";
import { noteUnended } from "./ungated.ts";

/** The methods that start a session or resume one. */
export const SESSION_CALLS: ReadonlySet<string> = new Set(methodsAt(CLIENT_DOORS, "session_start"));

/** Those during which the agent sends updates before it responds. */
const RESUMES = new Set(["session/load", "session/resume"]);

/** How a session is started. */
export interface BeginOptions {
  readonly method: string;
  readonly params: JsonObject;
  /** The stored session that is resumed or forked. */
  readonly earlier?: SessionRecord | undefined;
  /** The channel it was started from: the middle of its key. */
  readonly channel: string;
  readonly signal: AbortSignal;
  /** Registers the session with its owner. */
  readonly open: (record: SessionRecord) => SessionPort;
  /** Its limits, where another session begins it. */
  readonly descent?: Descent | undefined;
  /** When it was started, where it waited for its agent; by default now. */
  readonly begun?: Date | undefined;
  /** Receives the session before its agent does, so that its updates find it. */
  readonly known: (session: GovernedSession) => void;
  /** Receives a session that could not be started. */
  readonly failed: (session: GovernedSession) => void;
}

/**
 * Starts or resumes a session and returns the client's response: decided first, without what would weaken the agent's
 * asking, with every MCP server behind the gateway, and in the mode in which the agent asks.
 */
export async function beginSession(context: GovernorContext, options: BeginOptions): Promise<JsonObject> {
  const { method, params, earlier, signal, open, descent } = options;
  if (!descent) expectOwn(earlier);
  const place = await placeOf(context, options);
  const { meta, stripped } = sessionMeta(context.launch, metaOf(params));
  const declared = serversIn(context, params, earlier);
  const record = earlier && method !== "session/fork" ? earlier : newRecord(context, options, place);
  if (!earlier) await expectFreeKey(context, record, params);
  const scope = scopeIn(params, earlier, descent);
  const accepted = {
    cwd: place.cwd,
    additional_directories: place.additional,
    sealed_servers: sealServers(context.harness.vault, record.id, declared),
    daemon: daemonIn(meta) ?? record.daemon ?? false,
    wakes: wakesIn(meta) ?? record.wakes,
    ...scope,
  };
  const session = new GovernedSession(context, open({ ...record, ...scope }), workspaceOf(context, place), {
    agentSessionId: earlier?.agent_session_id ?? String(params.sessionId ?? ""),
    descent,
    isNew: record !== earlier,
  });
  try {
    const begun = { cwd: place.cwd, additional_directories: place.additional, stripped };
    const point = { kind: "session_start", tool: method, arguments: begun, origin: "client" } as const;
    const enforced = await enforce(session, point, { signal });
    if (enforced.kind !== "allowed") throw await refusal(method, enforced.verdict);
    for (const folders of [session.workspace, session.served])
      context.harness.enter(folders, agentOf(session));
    // What the operator configured comes first: a client takes the name of none of it.
    const all = [...(context.configured ?? []), ...declared];
    const { wrapped, refused } = await wrapServers(session, all, signal);
    const lent = await wrapLentTools(session);
    const result = await callAgent(session, options, {
      meta,
      place,
      servers: lent === undefined ? wrapped : [...wrapped, lent],
    });
    await enforceProfile(session, result);
    await start(session, method, accepted, {
      ...(stripped.length > 0 && { stripped }),
      ...(refused.length > 0 && { refused_servers: refused }),
    });
    return shown(session, result, refused);
  } catch (error) {
    options.failed(session);
    await endServers(session);
    // Answers on an earlier session may still be used when it is resumed.
    if (!earlier) await withdrawIn(session, RpcError.of(error).message);
    throw error;
  }
}

/** How far a session may change things: as its client says, and no farther than before, nor than the session above it. */
function scopeIn(
  params: JsonObject,
  earlier: SessionRecord | undefined,
  descent: Descent | undefined,
): Pick<SessionRecord, "mutation_scope"> {
  const named = [reinsMeta(params).mutation_scope, earlier?.mutation_scope].map(mutationScopeIn);
  const scope = named.reduce(stricterScope, descent?.mutationScope);
  return scope === undefined ? {} : { mutation_scope: scope };
}

/** A stored session of the agent, if the principal may load it. */
export async function keptSession(
  { harness, principal, entry }: GovernorContext,
  id: unknown,
  given?: SessionRecord,
): Promise<SessionRecord> {
  const { tenant } = principal;
  const kept =
    given ??
    (typeof id === "string" ? await harness.store.query(sessionTables, "get", { id, tenant }) : undefined);
  if (kept?.agent === entry.id && (kept.principal === principal.id || principal.roles.includes("admin")))
    return kept;
  throw new RpcError(CODE.notFound, `there is no session ${JSON.stringify(id)} of ${entry.id}`);
}

/** A session of a subagent had its limits from its parent, and is not resumed without them. */
function expectOwn(earlier: SessionRecord | undefined): void {
  if (earlier?.parent === undefined) return;
  throw new RpcError(
    CODE.invalidRequest,
    "it was the session of a subagent, which ended with the turn that began it; begin a new one",
  );
}

/** How a session ends in an agent: a client closed it, or the agent ends and the session continues with the next one. */
export interface SessionEnding {
  readonly reason: string;
  readonly ends: "session" | "agent";
  /** The turn that ends with the agent. */
  readonly turn?: Turn | undefined;
}

/**
 * Ends the MCP servers and the questions of a session that ends in its agent. Approvals outlive the agent, but for those
 * of the turn that ends with it: questions of an earlier turn still wait, and an answer that is not used yet counts when
 * the same action comes again.
 */
export async function releaseSession(
  session: GovernedSession,
  { reason, ends, turn }: SessionEnding,
): Promise<void> {
  await endServers(session);
  // The next start finds it as it is: with a turn that was cut off and questions that still wait.
  if (session.isCut) return;
  if (ends === "session") await withdrawIn(session, reason);
  else if (turn) await withdrawIn(session, reason, turn);
}

/** Has the owner of a session write its end in its agent. */
export async function recordEnd(session: GovernedSession, reason: string): Promise<void> {
  if (session.isCut) return;
  const { enforcement, harness } = session.context;
  const subject = recordedSubject(session, enforcement);
  const draft = lifecycleDraft(subject, "session_end", harness.supervisor.abandon(subject));
  const payload = { ...draft.payload, reason };
  await session.port.stopped({ ...draft, payload });
  forwardIn(session, "session_end", { reason });
}

/** The folders of a session: those that its client names, else those it had. */
function placeOf(
  { folders, entry, principal, enforcement }: GovernorContext,
  { method, params, earlier, descent }: BeginOptions,
): Promise<SessionPlace> {
  return folders.admit({
    ...{ principal, method, agent: entry.id, above: descent?.roots, worktree: descent?.worktree },
    cwd: params.cwd ?? earlier?.cwd,
    // A client that says where to work says all of it.
    additional:
      params.additionalDirectories ?? (params.cwd === undefined ? earlier?.additional_directories : []),
    isConfined: enforcement === "confined",
  });
}

/** Where the agent's tools work: its folders, and the home and variables that it was started with. */
function workspaceOf({ entry, launch }: GovernorContext, { cwd, additional, real }: SessionPlace): Workspace {
  const { env = {} } = launch;
  const roots = [cwd, ...additional];
  return { cwd, roots, realRoots: real, home: env.HOME, environment: env, tools: entry.tools ?? entry.id };
}

function serversIn(
  { harness }: GovernorContext,
  { mcpServers }: JsonObject,
  earlier: SessionRecord | undefined,
): readonly unknown[] {
  if (Array.isArray(mcpServers)) return mcpServers;
  return earlier ? openServers(harness.vault, earlier) : [];
}

function newRecord(
  { entry, principal, now, newId }: GovernorContext,
  { method, params, channel, descent, begun = now() }: BeginOptions,
  { cwd, additional }: SessionPlace,
): SessionRecord {
  const made = { agent: entry.id, principal, channel, peer: newId(), created: begun, cwd };
  return {
    ...newSessionRecord({
      ...made,
      ...(method === "session/new" && namingIn(params)),
      ...(descent?.key !== undefined && { key: descent.key }),
    }),
    ...(descent && { parent: descent.parent, depth: descent.depth, continued_by: descent.run }),
    additional_directories: additional,
  };
}

/**
 * A chosen key names one session for good. One of the channel `ws` is open to all; any other that names
 * an agent of the roster is for who may act as that agent.
 */
async function expectFreeKey(
  { harness, principal }: GovernorContext,
  { id, key, tenant }: SessionRecord,
  params: JsonObject,
): Promise<void> {
  const naming = namingIn(params);
  const fault = namingFault(naming);
  if (fault !== undefined) throw new RpcError(CODE.invalidParams, fault);
  if (naming.key === undefined) return;
  if (await harness.store.query(sessionTables, "byKey", { key, tenant }))
    throw new RpcError(CODE.invalidParams, `there is a session "${key}" already; resume that one`);
  const [owner = "", from] = key.split(":");
  if (from === "ws" || !harness.policies.roster.find(owner)) return;
  const asked = { principal, agent: owner, hosted: true, session: id, enforcement: "asked" } as const;
  if (harness.identity.subjectFor(asked).agent !== owner)
    throw new RpcError(CODE.invalidParams, `${principal.user} may not act as ${owner}, whose key that is`);
}

async function callAgent(
  session: GovernedSession,
  { method, earlier, signal, known }: BeginOptions,
  {
    meta,
    place: { cwd, additional: additionalDirectories },
    servers,
  }: {
    readonly meta: Readonly<JsonObject>;
    readonly place: SessionPlace;
    readonly servers: readonly unknown[];
  },
): Promise<JsonObject> {
  const { agent } = session.context;
  if (earlier && RESUMES.has(method)) known(session);
  session.replaying = method === "session/load";
  if (session.replaying && session.hasToolCalls) session.toolCalls.beginReplay();
  // At once: updates of the session may follow right behind its answer.
  const answered = (result: unknown) => {
    const { sessionId } = readResult("session/new", result);
    session.replaying = false;
    if (sessionId !== undefined) session.agentSessionId = sessionId;
    if (method === "session/new") session.knowsAllCalls = true;
    if (sessionId !== undefined || RESUMES.has(method)) known(session);
  };
  try {
    const result = await agent.request(
      method,
      {
        // No other member of what the client sent: none was decided.
        cwd,
        ...(additionalDirectories.length > 0 && { additionalDirectories }),
        mcpServers: servers,
        ...(earlier && method !== "session/new" && { sessionId: earlier.agent_session_id }),
        ...(Object.keys(meta).length > 0 && { _meta: meta }),
      },
      { signal, answered },
    );
    const answer = isObject(result) ? result : {};
    if (readResult("session/new", answer).sessionId !== undefined || RESUMES.has(method)) return answer;
    throw new RpcError(CODE.internal, "the agent began no session");
  } finally {
    session.replaying = false;
    if (session.knowsAllCalls && session.hasToolCalls) await noteUnended(session, { isCancelled: false });
  }
}

/** Puts the agent into the mode in which it asks. An agent that does not take it is not used. */
async function enforceProfile(session: GovernedSession, result: JsonObject): Promise<void> {
  const { agent, launch, entry, profile } = session.context;
  const sessionId = session.agentSessionId;
  const { currentModeId } = readResult("session/new", result).modes;
  session.claimedMode = currentModeId;
  // What the native agent says of its mode is Reins's own word.
  if (!profile.isObserved) session.mode = currentModeId ?? session.mode;
  try {
    if (launch.mode !== undefined && isObject(result.modes)) {
      if (currentModeId !== launch.mode)
        await agent.request("session/set_mode", { sessionId, modeId: launch.mode });
      session.mode = launch.mode;
      session.claimedMode = launch.mode;
    }
    for (const [configId, value] of Object.entries(launch.configOptions))
      await agent.request("session/set_config_option", typedOption({ sessionId, configId, value }));
    session.pinnedMode = launch.mode;
    for (const [option, value] of Object.entries(launch.configOptions))
      session.pinnedOptions.set(option, value);
  } catch (error) {
    const why = errorMessage(error);
    throw new RpcError(
      CODE.internal,
      `${entry.name} cannot be made to ask for everything, so it is not used: ${why}`,
    );
  }
}

/** Has the owner of a session store it as its agent accepted it, with the entry of its start. */
async function start(
  session: GovernedSession,
  method: string,
  accepted: AcceptedChanges,
  more: JsonObject,
): Promise<void> {
  const subject = recordedSubject(session, session.context.enforcement);
  const draft = lifecycleDraft(subject, method === "session/new" ? "session_start" : method);
  const { parent, depth } = session.record;
  const { cwd, additional_directories } = accepted;
  const { agentSessionId: agent_session_id } = session;
  const payload = {
    ...draft.payload,
    session_id: session.id,
    agent_session_id,
    cwd,
    additional_directories,
    ...(parent !== undefined && { parent, depth }),
    ...more,
  };
  const changes = { ...accepted, agent_session_id, agent_mode: session.mode };
  await session.port.started(changes, { ...draft, payload });
}

/** The agent's answer with our name for the session, the mode it was put into, and the MCP servers it does without. */
function shown(session: GovernedSession, result: JsonObject, refused: readonly unknown[]): JsonObject {
  const { modes } = result;
  return {
    ...(refused.length > 0 ? withReinsMeta(result, { refused_servers: refused }) : result),
    ...(readResult("session/new", result).sessionId !== undefined && { sessionId: session.id }),
    ...(isObject(modes) && { modes: { ...modes, currentModeId: session.claimedMode ?? session.mode } }),
  };
}
