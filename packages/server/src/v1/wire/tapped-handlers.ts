import type { AhpEvent, Handlers } from "@reins/ahp";
import type { Passed } from "./wire-ring.ts";

const TENANT = "default";

/** Handlers of AHP of which somebody sees every event, and what was decided. Who sent it is not known here. */
export function tappedHandlers(handlers: Handlers, see: (passed: Passed) => void): Handlers {
  let count = 0;
  const pass = (direction: Passed["direction"], event: AhpEvent, message: Passed["message"]) =>
    see({
      ...{ protocol: "ahp", edge: "agent", direction, tenant: TENANT, message },
      ...{ session: event.session_id, peer: event.agent_id, agent: event.agent_id },
    });
  return {
    ...handlers,
    event: async (event, call) => {
      count += 1;
      const id = `event-${count}`;
      pass("in", event, { jsonrpc: "2.0", id, method: "ahp/event", params: { ...event } });
      const decision = await handlers.event(event, call);
      pass("out", event, { jsonrpc: "2.0", id, result: { ...decision } });
      return decision;
    },
    ...(handlers.notification && {
      notification: async (event, call) => {
        pass("in", event, { jsonrpc: "2.0", method: "ahp/event", params: { ...event } });
        await handlers.notification?.(event, call);
      },
    }),
  };
}
