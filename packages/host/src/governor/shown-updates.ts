import { type JsonObject, membersOf } from "@reins/acp";
import { systemClock } from "@reins/kit";
import { UpdateRedactor } from "@reins/supervisor";
import type { GovernorContext } from "./context.ts";
import type { GovernedSession } from "./governed-session.ts";

/**
 * Shows an update to the clients of a session without the secrets in it. The end of a text may be held back until it is
 * known not to be the begin of one.
 */
export function showUpdate(
  context: GovernorContext,
  session: GovernedSession,
  update: JsonObject,
): void | Promise<void> {
  return notifyAll(session, redactorOf(context, session).push(update));
}

/** Shows what was held back, when a turn has ended. */
export async function showRest(session: GovernedSession): Promise<void> {
  await notifyAll(session, session.updates?.end() ?? []);
}

/** Notes what an agent says beside an update, which goes along with what is shown of it next. */
export function noteBeside(
  { redact }: GovernorContext,
  session: GovernedSession,
  { sessionId: _, update: __, _meta, ...beside }: JsonObject,
): void {
  const { reins: ___, ...meta } = membersOf(_meta);
  const hasMeta = Object.keys(meta).length > 0;
  if (!hasMeta && Object.keys(beside).length === 0) return;
  const said = redact({ ...beside, ...(hasMeta && { _meta: meta }) });
  session.beside = { ...session.beside, ...membersOf(said) };
}

function redactorOf(context: GovernorContext, session: GovernedSession): UpdateRedactor {
  session.updates ??= new UpdateRedactor(context.harness.redactor, {
    clock: systemClock,
    onLate: (updates) => {
      notifyAll(session, updates)?.catch((error: unknown) => {
        context.onFault(`an update could not be shown: ${String(error)}`);
      });
    },
  });
  return session.updates;
}

function notifyAll(session: GovernedSession, updates: readonly JsonObject[]): undefined | Promise<void> {
  const notified = updates.map((update) => notify(session, update)).filter((one) => one !== undefined);
  return notified.length > 0 ? Promise.all(notified).then(() => undefined) : undefined;
}

function notify(session: GovernedSession, update: JsonObject): void | Promise<void> {
  session.turn?.saw(update);
  const { id: sessionId, beside } = session;
  session.beside = undefined;
  return session.clients.notify("session/update", { ...beside, sessionId, update });
}
