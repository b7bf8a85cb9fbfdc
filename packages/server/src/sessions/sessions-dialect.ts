import { connectionOperations, sessionOperations } from "@reins/api";
import type { ServingDoor } from "../connections/serving.ts";
import type { Dialect } from "../dialect/dialect.ts";
import { Refusal } from "../problems/refusal.ts";
import { pageOf } from "../v1/page.ts";
import { tellSessions } from "./session-stream.ts";
import { shownConnection } from "./shown-connection.ts";
import { shownSessions } from "./shown-session.ts";

const { listSessions, streamSessions, getSession } = sessionOperations;
const { listConnections, closeConnection } = connectionOperations;

/** The sessions and connections of a server, to look at. What happens in a session is said in ACP. */
export function sessionsDialect(door: ServingDoor): Dialect {
  return {
    name: "sessions",
    mount(place) {
      place.governed(listSessions, async ({ query, principal, harness }) => {
        const { hosting } = await door.open(harness);
        const { items, next } = await pageOf(query.limit, (limit) =>
          hosting.hub.list(principal, { ...query, limit }),
        );
        return { sessions: await shownSessions(hosting, harness, items), next };
      });
      place.stream(streamSessions, async (call, open) => {
        const { hosting } = await door.open(call.harness);
        await tellSessions(call, hosting, open);
      });
      place.governed(getSession, async ({ params: { id }, principal, harness }) => {
        const { hosting } = await door.open(harness);
        const record = await hosting.hub.find(principal, id);
        const [session] = record ? await shownSessions(hosting, harness, [record]) : [];
        if (!session) throw new Refusal("not_found", `there is no session ${id}`);
        return session;
      });
      place.governed(listConnections, async ({ query, principal, harness }) => {
        const { connections } = await door.open(harness);
        const { items, next } = await pageOf(query.limit, async (limit) => {
          const found = await connections.list(principal, { ...query, limit });
          return found.map((one) => shownConnection(one, connections.expiryOf(one.record)));
        });
        return { connections: items, next };
      });
      place.governed(closeConnection, async ({ params: { id }, principal, harness }) => {
        const { connections } = await door.open(harness);
        await connections.remove(id, principal);
        return undefined;
      });
    },
  };
}
