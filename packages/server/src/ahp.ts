import { type AhpEvent, type AhpServer, type EventCall, type Handlers, mountHttp } from "@reins/ahp";
import { codeOfStatus, OTHER_DOORS, PROBLEM_TYPE, problem } from "@reins/api";
import { LOCAL } from "./access/access.ts";
import type { Routes } from "./routes/router.ts";
import type { Passed } from "./wire/wire-ring.ts";

/** AHP over HTTP and WebSocket. The token determines the principal of a peer. */
export function ahpRoutes(server: AhpServer): Routes {
  const mount = mountHttp(server, {
    refusal: (status, detail) => ({
      type: PROBLEM_TYPE,
      body: JSON.stringify(problem(codeOfStatus(status), detail || "AHP messages are sent with POST")),
    }),
  });
  return {
    name: "ahp",
    mount(router) {
      router.raw(OTHER_DOORS.ahp, (request, response, { id }) =>
        mount.handle(request, response, { principal: id }),
      );
      router.upgrade(OTHER_DOORS.ahpSocket, (request, socket, head, { id }) =>
        mount.upgrade(request, socket, head, { principal: id }),
      );
    },
    close: () => mount.close(),
  };
}

/** The tenant of a token is unknown here, so only the operator sees these envelopes. */
const UNKNOWN = "";

/** Wraps AHP handlers to report every event and decision. */
export function tappedHandlers(handlers: Handlers, see: (passed: Passed) => void): Handlers {
  let count = 0;
  const pass = (
    direction: Passed["direction"],
    { session_id: session, agent_id: agent }: AhpEvent,
    { peer }: Pick<EventCall, "peer">,
    message: Passed["message"],
  ) => {
    const tenant = (peer.principal ?? LOCAL) === LOCAL ? "default" : UNKNOWN;
    see({ protocol: "ahp", edge: "agent", direction, tenant, session, peer: agent, agent, message });
  };
  return {
    ...handlers,
    event: async (event, call) => {
      count += 1;
      const id = `event-${count}`;
      pass("in", event, call, { jsonrpc: "2.0", id, method: "ahp/event", params: { ...event } });
      const decision = await handlers.event(event, call);
      pass("out", event, call, { jsonrpc: "2.0", id, result: { ...decision } });
      return decision;
    },
    ...(handlers.notification && {
      notification: async (event, call) => {
        pass("in", event, call, { jsonrpc: "2.0", method: "ahp/event", params: { ...event } });
        await handlers.notification?.(event, call);
      },
    }),
  };
}
