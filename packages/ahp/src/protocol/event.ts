import type { z } from "zod";
import { any, map, optional, struct, text, u32 } from "../wire/schema.ts";
import { EventContext } from "./context.ts";
import { EventType } from "./event-type.ts";

/** One event as it travels: who, when, how deep, and what about. */
export const AhpEvent = struct("AhpEvent", {
  event_type: EventType,
  session_id: text,
  agent_id: text,
  timestamp: text,
  depth: u32,
  payload: any,
  context: optional(EventContext),
  metadata: optional(map),
});
export type AhpEvent = z.infer<typeof AhpEvent>;
