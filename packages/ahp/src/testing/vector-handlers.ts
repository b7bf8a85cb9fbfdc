import type { z } from "zod";
import { AhpError } from "../errors/ahp-error.ts";
import type { BlockingEventType, SpecialisedEventType } from "../protocol/event-type.ts";
import { DECISIONS, type Decisions } from "../protocol/families.ts";
import { QueryResponse } from "../protocol/methods.ts";
import { NOT_SUPPORTED } from "../server/defaults.ts";
import type { EventCall, Handlers } from "../server/handlers.ts";
import { decode } from "../wire/codec.ts";
import { isObject } from "../wire/decoder.ts";

/**
 * The harness the vectors were recorded with: `payload.__err` fails, `payload.__decide` is the decision,
 * `payload.__answer` the answer to a query; otherwise upstream's defaults. `calls` gets the generic callbacks
 * that ran.
 */
export function vectorHandlers(calls: string[] = []): Handlers {
  return {
    event(event) {
      calls.push(`handle_event:${event.event_type}`);
      return scripted("pre_action", event.payload) ?? { decision: "allow" };
    },
    notification(event) {
      calls.push(`handle_notification:${event.event_type}`);
      scripted("pre_action", event.payload);
    },
    idle: (_, { event }) => scripted("idle", event.payload) ?? { decision: "allow" },
    context_perception: specialised("context_perception"),
    memory_recall: specialised("memory_recall"),
    planning: specialised("planning"),
    reasoning: specialised("reasoning"),
    rate_limit: specialised("rate_limit"),
    confirmation: specialised("confirmation"),
    intent_detection: specialised("intent_detection"),
    query({ payload }) {
      if (isObject(payload) && payload.__answer !== undefined) return decode(QueryResponse, payload.__answer);
      scripted("query", payload);
      throw new AhpError("unsupported", NOT_SUPPORTED["ahp/query"]);
    },
  };
}

function specialised<Type extends Exclude<SpecialisedEventType, "idle">>(type: Type) {
  return (_: unknown, { event }: EventCall): Decisions[Type] => {
    const decision = scripted(type, event.payload);
    if (decision) return decision;
    throw new AhpError("unsupported", NOT_SUPPORTED[type]);
  };
}

function scripted<Type extends BlockingEventType>(type: Type, payload: unknown): Decisions[Type] | undefined {
  const schemas: { readonly [Key in BlockingEventType]: z.ZodType<Decisions[Key]> } = DECISIONS;
  if (!isObject(payload)) return undefined;
  if (typeof payload.__err === "string") throw new AhpError("protocol", payload.__err);
  return payload.__decide === undefined ? undefined : decode(schemas[type], payload.__decide);
}
