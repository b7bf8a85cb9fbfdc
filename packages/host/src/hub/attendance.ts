import type { JsonObject } from "@reins/acp";
import type { Connection } from "./connection.ts";
import type { HubContext, SessionCall } from "./context.ts";
import type { LiveSession } from "./live-session.ts";
import { agentOf, relocate } from "./revival.ts";
import { UPDATE } from "./turn-marks.ts";

/** Takes up a session: a load tells everything that was, a resume goes on from here. */
export async function takeUp(
  context: HubContext,
  connection: Connection,
  session: LiveSession,
  { method, params, signal }: SessionCall,
): Promise<JsonObject> {
  await relocate(context, session, { params, signal });
  await agentOf(context, session, { params, signal });
  session.used = context.clock.now().getTime();
  if (method === "session/load") await tellAll(connection, session);
  else await join(context, connection, session);
  return session.settings;
}

/** Tells everything that was said in a session, also in one that has ended, and starts no agent for it. */
export async function replay(
  { sessions }: HubContext,
  connection: Connection,
  id: unknown,
): Promise<JsonObject> {
  const session = sessions.serve(await sessions.see(connection.principal, id));
  await tellAll(connection, session);
  return session.settings;
}

/** Has a client follow a session from now on; what waits for an answer is asked of it too. */
export async function join({ log }: HubContext, connection: Connection, session: LiveSession): Promise<void> {
  if (connection.following.has(session.id)) return;
  await log.written();
  const last = log.last(connection.principal.tenant);
  if (connection.following.has(session.id)) return;
  connection.attach(session, Math.max(last, session.lastOrder));
  const { id: sessionId, commands: update } = session;
  if (update) await connection.tell({ method: UPDATE, params: { sessionId, update } }, sessionId);
  for (const { key, method, params, only } of session.clients.questions)
    if (only === undefined || only === connection.id)
      await connection.ask(session.id, key, { method, params });
}

async function tellAll(connection: Connection, session: LiveSession): Promise<void> {
  connection.detach(session.id);
  await connection.replay(session);
}
