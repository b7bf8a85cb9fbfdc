import type { JsonObject } from "../acp/message.ts";
import { CODE, RpcError } from "../acp/rpc-error.ts";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { HubContext } from "./context.ts";
import type { LiveSession } from "./live-session.ts";
import { transcriptOf } from "./transcript.ts";

/** How a session's agent is wanted. */
export interface Wanting {
  /** Aborts when nobody waits for it any more. */
  readonly signal: AbortSignal;
  /** What whoever takes the session up says beside its name. */
  readonly params?: JsonObject;
}

/** The agent of a session; one that has gone is started anew and takes the session up. */
export async function agentOf(
  context: HubContext,
  session: LiveSession,
  wanting: Wanting,
): Promise<HostedAgent> {
  if (session.agent) return session.agent;
  session.reviving ??= revive(context, session, wanting).finally(() => {
    session.reviving = undefined;
  });
  await session.reviving;
  if (session.agent) return session.agent;
  throw new RpcError(CODE.internal, "the session's agent could not be started");
}

/** The folders that a session works in. */
export function rootsOf({ cwd, additional_directories }: SessionRecord): readonly string[] {
  return [cwd, ...additional_directories];
}

async function revive(
  { harness, pool, log }: HubContext,
  session: LiveSession,
  { params = {}, signal }: Wanting,
): Promise<void> {
  const { record } = session;
  const principal = await harness.identity.current({ id: record.principal });
  if (!principal) throw new RpcError(CODE.authRequired, "whoever began the session may do so no more");
  const agent = await pool.acquire(record.agent, principal, rootsOf(record));
  const asked = { cwd: record.cwd, ...params, sessionId: record.id };
  const result = await agent.governor.request(agent.takesUp ?? "session/new", asked, { signal });
  if (!agent.takesUp) session.preface = await transcriptOf(log, record);
  session.agent = agent;
  session.learn(result);
  const governed = agent.governor.session(record.id);
  if (governed) session.record = governed.record;
}
