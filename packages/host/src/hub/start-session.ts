import { randomUUID } from "node:crypto";
import { CODE, type JsonObject, membersOf, RpcError, reinsMeta, sandboxMeta } from "@reins/acp";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { Session } from "../sessions/session.ts";
import { SESSION_MODES, type SessionMode, type SessionRecord } from "../sessions/session-record.ts";
import type { Connection } from "./connection.ts";
import type { HubContext, SessionCall } from "./context.ts";
import { agentOf, hasServers, lendsTools, rootsIn, rootsOf } from "./resume.ts";

/** Starts a session. Its client is attached to it from the first question on. */
export async function startSession(
  hub: HubContext,
  connection: Connection,
  { params: given, signal }: SessionCall,
): Promise<unknown> {
  const params = await withFolderServers(hub, connection, given);
  const name = agentIn(params) ?? connection.agent;
  if (name === undefined) throw new RpcError(CODE.invalidParams, "session/new has to name an agent");
  const { pool } = hub;
  const isApart = pool.isMetered(name) || hasServers(params) || lendsTools(connection);
  const apart = isApart ? randomUUID() : undefined;
  const child = connection.descent && randomUUID();
  const agent = await pool.acquire(name, connection.principal, rootsIn(params) ?? [], apart, child);
  try {
    const { result } = await start(hub, connection, agent, { method: "session/new", params, signal });
    return result;
  } catch (error) {
    // The process of a subagent is for one session.
    if (child !== undefined && agent.process) await pool.end(agent, "its session could not be started");
    throw error;
  }
}

/** What a client asked for, with the MCP servers that its user stored for the folder, but for names that it uses itself. */
async function withFolderServers(
  { folderServers }: HubContext,
  { principal, descent }: Connection,
  params: JsonObject,
): Promise<JsonObject> {
  const stored = descent ? [] : ((await folderServers?.serversFor(principal, params.cwd)) ?? []);
  if (stored.length === 0) return params;
  const named: readonly unknown[] = Array.isArray(params.mcpServers) ? params.mcpServers : [];
  const taken = new Set(named.map((server) => membersOf(server).name));
  return {
    ...params,
    mcpServers: [...named, ...stored.filter((server) => !taken.has(membersOf(server).name))],
  };
}

/** Starts a session that continues from where another is. */
export async function forkSession(
  connection: Connection,
  source: Session,
  { params, signal }: SessionCall,
): Promise<unknown> {
  const { hub } = source;
  await agentOf(source, { signal });
  const { record } = source;
  const isApart = hub.pool.isMetered(record.agent) || hasServers(params, record) || lendsTools(connection);
  const apart = isApart ? randomUUID() : undefined;
  const roots = rootsIn(params) ?? rootsOf(record);
  const agent = await hub.pool.acquire(record.agent, connection.principal, roots, apart);
  const { order: forked_after } = await hub.log.end(record.tenant);
  const call = { method: "session/fork", params, signal };
  const { session, result } = await start(hub, connection, agent, call, record);
  const metadata = { ...session.record.metadata, forked_from: record.id, forked_after };
  await session.apply({ type: "annotated", changes: { metadata } });
  return result;
}

async function start(
  { clock, harness, sessions }: HubContext,
  connection: Connection,
  agent: HostedAgent,
  { method, params, signal }: SessionCall,
  earlier?: SessionRecord,
): Promise<{ readonly session: Session; readonly result: JsonObject }> {
  const { descent, begun } = connection;
  const opened: { session?: Session } = {};
  const open = (record: SessionRecord) => {
    const session = sessions.create(record, agent);
    opened.session = session;
    connection.attach(session, 0);
    return session;
  };
  try {
    const call = { signal, earlier, descent, begun, open };
    const result = membersOf(await agent.governor.request(method, params, call));
    const { session } = opened;
    if (!session) throw new RpcError(CODE.internal, "the agent began no session");
    session.used = clock.now().getTime();
    session.learn(result);
    connection.subscribeTurns(session.id);
    const changes = annotationsIn(session, membersOf(harness.redact(metadataIn(params))), modeIn(params));
    if (changes) await session.apply({ type: "annotated", changes });
    return { session, result };
  } catch (error) {
    const { session } = opened;
    if (session?.phase === "starting") {
      connection.detach(session.id);
      await session.apply({ type: "failed" });
    }
    throw error;
  }
}

/** What the client says about a session that it starts. */
function annotationsIn(
  { record }: Session,
  { title, ...metadata }: JsonObject,
  mode: SessionMode | undefined,
): Partial<Pick<SessionRecord, "title" | "metadata" | "mode">> | undefined {
  if (title === undefined && mode === undefined && Object.keys(metadata).length === 0) return undefined;
  return {
    ...(mode !== undefined && { mode }),
    ...(typeof title === "string" && { title }),
    metadata: { ...record.metadata, ...metadata, ...(title !== undefined && { title }) },
  };
}

/** The members of a client's `_meta` that are stored with the session. */
const STORED = ["title", "model", "mode", "variant", "permissionMode"] as const;

/** The agent that a request names for itself. */
export function agentIn(params: JsonObject): string | undefined {
  const { agent } = sandboxMeta(params);
  return reinsMeta(params).agent ?? (typeof agent === "string" ? agent : undefined);
}

/** Whether a client's `initialize` subscribes to the start and end of turns. */
export function subscribesToTurns(params: JsonObject): boolean {
  return reinsMeta(params).turns === true;
}

function metadataIn(params: JsonObject): JsonObject {
  const given = sandboxMeta(params);
  return Object.fromEntries(
    STORED.flatMap((name) => (typeof given[name] === "string" ? [[name, given[name]]] : [])),
  );
}

function modeIn(params: JsonObject): SessionMode | undefined {
  const { mode } = reinsMeta(params);
  return SESSION_MODES.find((known) => known === mode);
}
