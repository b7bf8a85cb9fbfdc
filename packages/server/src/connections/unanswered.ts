import type { JsonObject, RequestId } from "@reins/acp";
import type { Connection, Hub } from "@reins/host";

/** A request whose answer was to come on a stream. */
export interface Unanswered {
  readonly id: RequestId;
  /** The session whose stream its answer belongs on, if it belongs to one. */
  readonly session: string | undefined;
}

/** The requests that a connection noted after a place in the log and was never answered. */
export async function unansweredAfter(
  hub: Hub,
  connection: Connection,
  place: number,
): Promise<readonly Unanswered[]> {
  const { id, principal, sessions } = connection;
  const channels = new Map<string, string | undefined>([
    [hub.channelOf(id), undefined],
    ...sessions.map((session) => [hub.channelOf(id, session), session] as const),
  ]);
  const open = new Map<string, Unanswered>();
  for (let after = place; ; ) {
    const page = await hub.log.page(principal.tenant, [...channels.keys()], after);
    if (page.length === 0) return [...open.values()];
    for (const { order, session: channel, message, except } of page) {
      after = order;
      const request = idIn(message);
      if (request === undefined) continue;
      if (except === id) open.set(JSON.stringify(request), { id: request, session: channels.get(channel) });
      else if (message.method === undefined) open.delete(JSON.stringify(request));
    }
  }
}

function idIn({ id }: JsonObject): RequestId | undefined {
  return typeof id === "string" || typeof id === "number" || id === null ? id : undefined;
}
