import { realpath } from "node:fs/promises";
import { CODE, chunkText, interruptedBy, type JsonObject, RpcError, updateIn } from "@reins/acp";
import { offersBridge } from "@reins/bridge";
import { raceAbort } from "@reins/kit";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { EventLog } from "../log/event-log.ts";
import { noSession, type Session } from "../sessions/session.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import { eventsAfter } from "./interruption.ts";

/** How a session's agent is requested. */
export interface ResumeOptions {
  /** Aborts the wait of this request only: others may wait for the same agent. */
  readonly signal: AbortSignal;
  /** The parameters of `session/load` or `session/resume`. */
  readonly params?: JsonObject;
}

/** The agent of a session, which is idle or running then; if it has none, one is started and resumes it. */
export async function agentOf(
  session: Session,
  { params = {}, signal }: ResumeOptions,
): Promise<HostedAgent> {
  if (session.agent && session.isReady) return session.agent;
  if (session.phase === "ended") throw noSession(session.id);
  if (session.phase === "interrupted") throw interruptedBy("Reins is stopping");
  const isShared = session.resumed !== undefined;
  session.resumed ??= resume(session, params).finally(() => {
    session.resumed = undefined;
  });
  await raceAbort(session.resumed, signal);
  if (session.agent) return session.agent;
  // What was waited for was another client's move to other folders, which has failed.
  if (isShared) return agentOf(session, { params, signal });
  throw new RpcError(CODE.internal, "the session's agent could not be started");
}

/** The folders that a session works in. */
export function rootsOf({ cwd, additional_directories }: SessionRecord): readonly string[] {
  return [cwd, ...additional_directories];
}

/** The folders that a client names; undefined if it names none. */
export function rootsIn({ cwd, additionalDirectories }: JsonObject): readonly string[] | undefined {
  const more: unknown[] = Array.isArray(additionalDirectories) ? additionalDirectories : [];
  const named = [cwd, ...more].filter((path) => typeof path === "string");
  return typeof cwd === "string" ? named : undefined;
}

/** Whether a session has MCP servers: those that its client names now, or else those it was started with. */
export function hasServers(
  { mcpServers }: JsonObject,
  record?: Pick<SessionRecord, "sealed_servers">,
): boolean {
  if (Array.isArray(mcpServers) && mcpServers.length > 0) return true;
  return record?.sealed_servers !== undefined;
}

/** Whether a client lends tools, which its session's agent gets as an MCP server. */
export function lendsTools({ capabilities }: { readonly capabilities: JsonObject }): boolean {
  return offersBridge(capabilities, "host/tools/list");
}

/** Moves an open session to the folders that its client names now; without any, it stays where it is. */
export async function relocate(session: Session, { params = {}, signal }: ResumeOptions): Promise<void> {
  const { agent, record } = session;
  const { pool } = session.hub;
  const roots = rootsIn(params);
  if (!agent || !roots || (await isSame(roots, rootsOf(record)))) return;
  const mixes = pool.separates(record.agent) && hasServers(params) && !hasServers({}, record);
  if (!agent.resumeMethod || mixes || pool.confines(record.agent))
    throw new RpcError(
      CODE.invalidParams,
      `the session works in ${rootsOf(record).join(", ")}, and its agent cannot change that; begin another one`,
    );
  if (session.phase === "running")
    throw new RpcError(CODE.invalidRequest, "a turn is under way in this session");
  if (session.phase !== "idle") return;
  const asked = { ...params, sessionId: record.id };
  const open = () => session;
  const relocated = async (method: string) => {
    await session.apply({ type: "resume" });
    try {
      session.learn(await agent.governor.request(method, asked, { signal, earlier: record, open }));
    } catch (error) {
      // An agent that failed halfway does not have the session any more.
      const isKept = agent.governor.session(record.id) !== undefined;
      await session.apply({ type: isKept ? "retained" : "failed" });
      throw error;
    }
  };
  const relocating = relocated(agent.resumeMethod);
  const over = () => {
    session.resumed = undefined;
  };
  session.resumed = relocating.then(over, over);
  await relocating;
}

/** Whether two lists name the same folders, by where they are. */
async function isSame(named: readonly string[], others: readonly string[]): Promise<boolean> {
  const real = (folder: string) => realpath(folder).catch(() => folder);
  const [ours, theirs] = await Promise.all([named, others].map((list) => Promise.all(list.map(real))));
  return JSON.stringify(ours) === JSON.stringify(theirs);
}

async function resume(session: Session, params: JsonObject): Promise<void> {
  if (session.agent) await giveBack(session, session.agent);
  await session.apply({ type: "resume" });
  try {
    await start(session, params);
  } catch (error) {
    if (session.phase === "resuming") await session.apply({ type: "failed" });
    throw error;
  }
}

async function start(session: Session, params: JsonObject): Promise<void> {
  const { harness, homes, pool, log } = session.hub;
  const { record, pending: signal, descent } = session;
  const principal = await harness.identity.current({ id: record.principal });
  if (!principal) throw new RpcError(CODE.authRequired, "the principal of the session is not valid any more");
  const isApart =
    pool.isMetered(record.agent) ||
    hasServers(params, record) ||
    session.hub.present(record.id).some(lendsTools);
  const apart = isApart ? record.id : undefined;
  const agent = await pool.acquire(
    record.agent,
    principal,
    rootsIn(params) ?? rootsOf(record),
    apart,
    descent && record.id,
  );
  signal.throwIfAborted();
  // A node has not what an agent kept on another one, or has it without the turns since.
  const isHere = homes === undefined || record.homes === undefined || record.homes === homes;
  const resumeMethod = isHere ? agent.resumeMethod : undefined;
  if (!resumeMethod && descent?.mustLoad !== undefined) throw new Error(descent.mustLoad);
  session.assign(agent);
  session.preface = resumeMethod ? undefined : await transcriptOf(log, record);
  const { cwd, additional_directories: additionalDirectories } = record;
  const folders = params.cwd === undefined ? { cwd, additionalDirectories } : {};
  const asked = { ...folders, ...params, sessionId: record.id };
  const call = { signal, earlier: record, descent, open: () => session };
  const begin = (method: string) => agent.governor.request(method, asked, call);
  const begun = begin(resumeMethod ?? "session/new").catch(async (error: unknown) => {
    if (!resumeMethod || signal.aborted) throw error;
    if (descent?.mustLoad !== undefined) throw new Error(descent.mustLoad, { cause: error });
    // Some agents do not know a session any more in which nothing was said, or in which they were cut off early.
    const transcript = await transcriptOf(log, record);
    const isKnown = homes === undefined || record.homes === homes;
    if (transcript !== undefined && isKnown && !descent) throw error;
    session.preface = transcript;
    return begin("session/new");
  });
  session.learn(await begun);
  if (!signal.aborted) return;
  await giveBack(session, agent);
  signal.throwIfAborted();
}

/** Has an agent close a session that it is not to have any more. */
async function giveBack(session: Session, { governor }: HostedAgent): Promise<void> {
  const { id: sessionId } = session;
  if (session.phase === "idle") await session.apply({ type: "agent_lost" });
  if (!governor.session(sessionId)) return;
  const { signal } = new AbortController();
  await governor.request("session/close", { sessionId }, { signal }).catch(session.hub.onError);
}

/** How much of the conversation a new agent gets; of more than that, the newest. */
const MAX_CHARACTERS = 24_000;

const SPEAKERS: Readonly<Record<string, string | undefined>> = {
  user_message_chunk: "User",
  agent_message_chunk: "You",
};

/** The conversation of a session as text, for an agent that cannot resume it by itself; undefined if it is empty. */
async function transcriptOf(log: EventLog, { tenant, id }: SessionRecord): Promise<string | undefined> {
  await log.written();
  const lines: { readonly speaker: string; text: string }[] = [];
  for await (const { message } of eventsAfter(log, tenant, id)) {
    const { kind, update } = updateIn(message.params);
    const speaker = SPEAKERS[String(kind)];
    const text = chunkText(update);
    if (speaker === undefined || text === undefined) continue;
    const last = lines.at(-1);
    if (last?.speaker === speaker) last.text += text;
    else lines.push({ speaker, text });
  }
  if (lines.length === 0) return undefined;
  const all = lines.map(({ speaker, text }) => `${speaker}: ${text}`).join("\n\n");
  const kept = all.length > MAX_CHARACTERS ? `[…]\n${all.slice(-MAX_CHARACTERS)}` : all;
  return `This conversation goes on from an earlier one. What was said so far, the newest last:\n\n${kept}\n\nGo on from there.`;
}
