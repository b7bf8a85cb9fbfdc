import type { z } from "zod";
import { layered } from "../errors/ahp-error.ts";
import type { RefusalDetails, RefusalReason } from "../errors/rpc.ts";
import type { Floats } from "../json/floats.ts";
import type { AhpEvent } from "../protocol/event.ts";
import { isContract } from "../protocol/event-type.ts";
import { PAYLOADS } from "../protocol/families.ts";
import type { HarnessConfig } from "../protocol/methods.ts";
import { decode } from "../wire/codec.ts";
import { DecodeError } from "../wire/decode-error.ts";

/** What is wrong with an event before any handler sees it. */
export interface EventFault {
  /** The layered text, such as `Protocol error: Event depth 11 exceeds configured max depth 10`. */
  readonly text: string;
  readonly reason: RefusalReason;
  readonly details: RefusalDetails;
}

/** Checks an event's depth, then the payload if it is a durable contract. */
export function faultOf(
  event: AhpEvent,
  { max_depth }: HarnessConfig,
  floats: Floats | undefined,
): EventFault | undefined {
  if (max_depth !== undefined && event.depth > max_depth) {
    const text = `Event depth ${event.depth} exceeds configured max depth ${max_depth}`;
    const details = { depth: event.depth, max_depth };
    return { text: layered("protocol", text), reason: "depth_exceeded", details };
  }
  if (!isContract(event.event_type)) return undefined;
  try {
    const schema: z.ZodType = PAYLOADS[event.event_type];
    decode(schema, event.payload, floats);
    return undefined;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return payloadFault(error);
  }
}

/** The fault of a payload that is not what its event type says. */
export function payloadFault(error: DecodeError): EventFault {
  const text = layered("serialization", error.message);
  return { text, reason: "invalid_payload", details: { path: ["payload", ...error.path] } };
}
