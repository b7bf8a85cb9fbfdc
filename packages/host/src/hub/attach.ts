import { CODE, type JsonObject, RpcError, reinsMeta, updateIn } from "@reins/acp";
import { mutationScopeIn, stricterScope } from "../control/mutation-scope.ts";
import type { EventLog } from "../log/event-log.ts";
import { type Session, UPDATE } from "../sessions/session.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { Connection } from "./connection.ts";
import type { HubContext, SessionCall } from "./context.ts";
import { agentOf, lendsTools, relocate } from "./resume.ts";

/** Attaches a client to a session: a load replays everything that was said, a resume continues from here. */
export async function loadOrResume(
  connection: Connection,
  session: Session,
  { method, params, signal }: SessionCall,
): Promise<JsonObject> {
  await relocate(session, { params, signal });
  await agentOf(session, { params, signal });
  await narrow(session, params);
  session.used = session.hub.clock.now().getTime();
  if (method === "session/load") await connection.replay(session);
  else await join(connection, session);
  // Agents that have its tools by an MCP server list them anew.
  if (lendsTools(connection))
    await session.agent?.governor.notification("host/tools/update", { sessionId: session.id });
  return session.settings;
}

/** Narrows the mutation scope of a session that is open to what a client names when it attaches; none widens it. */
async function narrow(session: Session, params: JsonObject): Promise<void> {
  const [before, named] = [session.record, reinsMeta(params)].map((one) =>
    mutationScopeIn(one.mutation_scope),
  );
  const mutation_scope = stricterScope(before, named);
  if (mutation_scope !== before) await session.apply({ type: "annotated", changes: { mutation_scope } });
}

/** Replays everything that was said in a session, also in one that has ended, and starts no agent for it. */
export async function replay(
  { sessions }: HubContext,
  connection: Connection,
  id: unknown,
): Promise<JsonObject> {
  const session = sessions.serve(await sessions.see(connection.principal, id));
  await connection.replay(session);
  return session.settings;
}

/** Has a client follow a session from now on; it is asked the questions that are open, too. */
export async function join(connection: Connection, session: Session): Promise<void> {
  const { log } = session.hub;
  if (connection.following.has(session.id)) return;
  await log.written();
  const last = log.last(connection.principal.tenant);
  if (connection.following.has(session.id)) return;
  connection.attach(session, Math.max(last, session.lastOrder));
  const { id: sessionId, commands: update } = session;
  if (update) await connection.send({ method: UPDATE, params: { sessionId, update } }, sessionId);
  for (const { key, method, params, only } of session.clients.questions)
    if (only === undefined || only === connection.id)
      await connection.ask(session.id, key, { method, params });
}

/** Requests a page of what was said in a session, without following it. */
export const HISTORY = "_reins/session/history";

/** A page of a session's updates between two positions in the log, and the position after which there may be more. */
export async function historyOf(
  log: Pick<EventLog, "written" | "page">,
  { tenant, id }: Pick<SessionRecord, "tenant" | "id">,
  params: JsonObject,
): Promise<JsonObject> {
  const after = positionIn(params, "after") ?? 0;
  const until = positionIn(params, "until") ?? Number.POSITIVE_INFINITY;
  await log.written();
  const page = await log.page(tenant, [id], after);
  const updates = page
    .filter(({ order, message }) => order <= until && message.method === "session/update")
    .map(({ message }) => updateIn(message.params).update);
  const last = page.at(-1)?.order;
  return { updates, next: last === undefined || last >= until ? null : last };
}

function positionIn(params: JsonObject, name: string): number | undefined {
  const position = params[name] ?? undefined;
  if (
    position === undefined ||
    (typeof position === "number" && Number.isSafeInteger(position) && position >= 0)
  )
    return position;
  throw new RpcError(CODE.invalidParams, `"${name}" is a place in the log: a whole number`);
}
