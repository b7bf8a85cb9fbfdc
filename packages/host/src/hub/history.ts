import { CODE, type JsonObject, membersOf, RpcError } from "@reins/acp";
import type { EventLog } from "../log/event-log.ts";
import type { SessionRecord } from "../sessions/session-record.ts";

/** Asks for a page of what was said in a session, without following it. */
export const HISTORY = "_reins/session/history";

/**
 * The updates of a session after one place in the log and up to another, as many as fit, and the place after which there
 * may be more.
 */
export async function historyOf(
  log: Pick<EventLog, "written" | "page">,
  { tenant, id }: Pick<SessionRecord, "tenant" | "id">,
  params: JsonObject,
): Promise<JsonObject> {
  const after = placeIn(params, "after") ?? 0;
  const until = placeIn(params, "until") ?? Number.POSITIVE_INFINITY;
  await log.written();
  const page = await log.page(tenant, [id], after);
  const updates = page
    .filter(({ order, message }) => order <= until && message.method === "session/update")
    .map(({ message }) => membersOf(message.params).update);
  const last = page.at(-1)?.order;
  return { updates, next: last === undefined || last >= until ? null : last };
}

function placeIn(params: JsonObject, name: string): number | undefined {
  const place = params[name] ?? undefined;
  if (place === undefined || (typeof place === "number" && Number.isSafeInteger(place) && place >= 0))
    return place;
  throw new RpcError(CODE.invalidParams, `"${name}" is a place in the log: a whole number`);
}
