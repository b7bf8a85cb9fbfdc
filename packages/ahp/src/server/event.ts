import { errorMessage, type Floats } from "@reins/kit";
import type { z } from "zod";
import { layered, Refusal, type RefusalDetails, type RefusalReason, RPC } from "../errors.ts";
import {
  AhpEvent,
  type BlockingEventType,
  isBlocking,
  isContract,
  isSpecialised,
  type SpecialisedEventType,
} from "../protocol/event.ts";
import { closedDecision, DECISIONS, PAYLOADS, type Payloads } from "../protocol/families.ts";
import type { HarnessConfig } from "../protocol/messages.ts";
import { DecodeError, decode } from "../wire/decode.ts";
import { encode } from "../wire/encode.ts";
import { type Exchange, failure } from "./exchange.ts";
import type { Awaitable, EventCall, SpecialisedHandlers } from "./handlers.ts";

/**
 * Answers an event that its sender waits on, with the JSON text of the decision. Throws a {@link Refusal}, or rejects
 * with one.
 */
export function answerEvent(exchange: Exchange, params: unknown): Promise<string> {
  const event = exchange.params(AhpEvent, params);
  const session = exchange.session(event);
  const fault = faultOf(event, exchange.settings.config, exchange.floats);
  if (fault)
    throw new Refusal(RPC.invalidParams, `Invalid event: ${fault.text}`, fault.reason, fault.details);
  const type = event.event_type;
  if (!isBlocking(type)) {
    const message = `Fire-and-forget event ${type} must be sent as a notification`;
    throw new Refusal(RPC.invalidParams, message, "must_be_notification");
  }
  const deadline = exchange.deadline();
  const call = exchange.eventCall(event, session, deadline);
  const decide = isSpecialised(type)
    ? specialisedDecision(exchange, type, event, call)
    : () => exchange.handlers.event(event, call);
  return exchange.result(DECISIONS[type], deadline, decide, { late: (reason) => closed(type, reason) });
}

/** Handles an event without a decision. Throws a {@link Refusal}, which only HTTP reports to the sender. */
export async function handleNotification(exchange: Exchange, params: unknown): Promise<void> {
  const event = decodeNotified(exchange, params);
  const session = exchange.session(event);
  const fault = faultOf(event, exchange.settings.config, exchange.floats);
  if (fault)
    throw new Refusal(RPC.internalError, `Handler error: ${fault.text}`, fault.reason, fault.details);
  if (isBlocking(event.event_type)) {
    const text = layered("protocol", `Blocking event ${event.event_type} must be sent as a request`);
    throw failure(text, "must_be_request");
  }
  const deadline = exchange.deadline();
  try {
    await deadline.run(() =>
      exchange.handlers.notification?.(event, exchange.eventCall(event, session, deadline)),
    );
  } catch (error) {
    throw failure(errorMessage(error), deadline.expired ? "handler_timeout" : "handler_failed", error);
  }
}

function decodeNotified(exchange: Exchange, params: unknown): AhpEvent {
  try {
    return decode(AhpEvent, params, exchange.floats);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw failure(layered("serialization", error.message), "invalid_params", error);
  }
}

/** Checks the payload of a specialised event and picks its handler, or upstream's default. */
function specialisedDecision(
  exchange: Exchange,
  type: SpecialisedEventType,
  event: AhpEvent,
  call: EventCall,
): () => Awaitable<unknown> {
  const decide = bind(exchange, type, event, call);
  if (decide) return decide;
  if (type === "idle") return () => ({ decision: "allow" });
  throw failure(layered("unsupported", NOT_SUPPORTED[type]), "not_supported");
}

/** The handler of a family with its checked payload, if the harness has one. */
function bind<Type extends SpecialisedEventType>(
  exchange: Exchange,
  type: Type,
  event: AhpEvent,
  call: EventCall,
): (() => Awaitable<unknown>) | undefined {
  const handlers: SpecialisedHandlers = exchange.handlers;
  const schemas: { readonly [Key in SpecialisedEventType]: z.ZodType<Payloads[Key]> } = PAYLOADS;
  try {
    const payload = decode(schemas[type], event.payload, exchange.floats);
    return handlers[type] && (() => handlers[type]?.(payload, call));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const fault = payloadFault(error);
    throw new Refusal(RPC.internalError, `Handler error: ${fault.text}`, fault.reason, fault.details, error);
  }
}

function closed(type: BlockingEventType, reason: string): string {
  return encode(DECISIONS[type], closedDecision(type, reason));
}

/** Why an event is refused before any handler runs. */
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

/** The fault of a payload that does not match its event type. */
function payloadFault(error: DecodeError): EventFault {
  const text = layered("serialization", error.message);
  return { text, reason: "invalid_payload", details: { path: ["payload", ...error.path] } };
}

/** The error texts for families without a handler, the same as upstream's. `idle` is allowed. */
export const NOT_SUPPORTED: Readonly<Record<Exclude<SpecialisedEventType, "idle"> | "ahp/query", string>> = {
  context_perception: "Context perception not supported",
  memory_recall: "Memory recall not supported",
  planning: "Planning not supported",
  reasoning: "Reasoning not supported",
  rate_limit: "Rate limit decisions not supported",
  confirmation: "Confirmation not supported",
  intent_detection: "Intent detection not supported",
  "ahp/query": "Query not supported",
};
