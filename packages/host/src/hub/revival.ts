import { realpath } from "node:fs/promises";
import { CODE, type JsonObject, RpcError } from "@reins/acp";
import { raceAbort } from "@reins/kit";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { HubContext } from "./context.ts";
import type { LiveSession } from "./live-session.ts";
import { transcriptOf } from "./transcript.ts";

/** How a session's agent is wanted. */
export interface Wanting {
  /** Aborts when whoever wants it waits no more; others may, and it is there for whoever comes next. */
  readonly signal: AbortSignal;
  /** What whoever takes the session up says beside its name. */
  readonly params?: JsonObject;
}

/** The agent of a session; one that has gone is started anew and takes the session up. */
export async function agentOf(
  context: HubContext,
  session: LiveSession,
  { params = {}, signal }: Wanting,
): Promise<HostedAgent> {
  if (session.agent) return session.agent;
  context.sessions.expectOpen(session);
  session.reviving ??= revive(context, session, params).finally(() => {
    session.reviving = undefined;
  });
  await raceAbort(session.reviving, signal);
  if (session.agent) return session.agent;
  throw new RpcError(CODE.internal, "the session's agent could not be started");
}

/** The folders that a session works in. */
export function rootsOf({ cwd, additional_directories }: SessionRecord): readonly string[] {
  return [cwd, ...additional_directories];
}

/** The folders that a client names; nothing where it leaves them as they are. */
export function rootsIn({ cwd, additionalDirectories }: JsonObject): readonly string[] | undefined {
  const more: unknown[] = Array.isArray(additionalDirectories) ? additionalDirectories : [];
  const named = [cwd, ...more].filter((path) => typeof path === "string");
  return typeof cwd === "string" ? named : undefined;
}

/** Whether a session has MCP servers: those that its client names now, or else those it was begun with. */
export function hasServers(
  { mcpServers }: JsonObject,
  record?: Pick<SessionRecord, "sealed_servers">,
): boolean {
  if (Array.isArray(mcpServers) && mcpServers.length > 0) return true;
  return record?.sealed_servers !== undefined;
}

/** Has a session that is open work in the folders that its client names now; without any, it stays where it is. */
export async function relocate(
  { pool }: Pick<HubContext, "pool">,
  session: LiveSession,
  { params = {}, signal }: Wanting,
): Promise<void> {
  const { agent, record } = session;
  const roots = rootsIn(params);
  if (!agent || !roots || (await isSame(roots, rootsOf(record)))) return;
  const mixes = pool.separates(record.agent) && hasServers(params) && !hasServers({}, record);
  if (!agent.takesUp || mixes || pool.confines(record.agent))
    throw new RpcError(
      CODE.invalidParams,
      `the session works in ${rootsOf(record).join(", ")}, and its agent cannot change that; begin another one`,
    );
  const asked = { ...params, sessionId: record.id };
  try {
    session.learn(await agent.governor.request(agent.takesUp, asked, { signal }));
  } finally {
    const governed = agent.governor.session(record.id);
    if (governed) session.record = governed.record;
    // An agent that failed to take it up anew does not have it any more.
    else session.agent = undefined;
  }
}

/** Whether two lists name the same folders, by where they are. */
async function isSame(named: readonly string[], others: readonly string[]): Promise<boolean> {
  const real = (folder: string) => realpath(folder).catch(() => folder);
  const [ours, theirs] = await Promise.all([named, others].map((list) => Promise.all(list.map(real))));
  return JSON.stringify(ours) === JSON.stringify(theirs);
}

async function revive(context: HubContext, session: LiveSession, params: JsonObject): Promise<void> {
  const { harness, pool, log, sessions } = context;
  const { record, wanted: signal } = session;
  const principal = await harness.identity.current({ id: record.principal });
  if (!principal) throw new RpcError(CODE.authRequired, "whoever began the session may do so no more");
  const apart = hasServers(params, record) ? record.id : undefined;
  const agent = await pool.acquire(record.agent, principal, rootsIn(params) ?? rootsOf(record), apart);
  signal.throwIfAborted();
  const { cwd, additional_directories: additionalDirectories } = record;
  const place = params.cwd === undefined ? { cwd, additionalDirectories } : {};
  const asked = { ...place, ...params, sessionId: record.id };
  try {
    const result = await agent.governor.request(agent.takesUp ?? "session/new", asked, { signal });
    if (!agent.takesUp) session.preface = await transcriptOf(log, record);
    signal.throwIfAborted();
    session.agent = agent;
    session.learn(result);
    const governed = agent.governor.session(record.id);
    if (governed) session.record = governed.record;
    sessions.tell(session);
  } finally {
    if (signal.aborted && session.agent !== agent) await giveBack(context, session, agent);
  }
}

/** Has an agent close a session that was called off while it took it up; what is kept of the session stays. */
async function giveBack(
  { sessions, onError }: HubContext,
  session: LiveSession,
  { governor }: HostedAgent,
): Promise<void> {
  const { id: sessionId, record } = session;
  const governed = governor.session(sessionId);
  if (!governed) return;
  governed.record = record;
  const { signal } = new AbortController();
  await governor.request("session/close", { sessionId }, { signal }).catch(onError);
  await sessions.keepAgain(session);
}
