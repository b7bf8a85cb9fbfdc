import { Refusal, RPC } from "../errors/rpc.ts";
import { Decision } from "../protocol/decisions.ts";
import type { AhpEvent } from "../protocol/event.ts";
import { isBatchable } from "../protocol/event-type.ts";
import { BatchRequest } from "../protocol/methods.ts";
import { encode } from "../wire/codec.ts";
import { faultOf } from "./event-check.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Decides on the events of a batch one after the other, in order. A handler that fails costs its own event a
 * block; an event that may not be in a batch ends the whole batch.
 */
export async function answerBatch(exchange: Exchange, params: unknown): Promise<string> {
  const { events } = exchange.params(BatchRequest, params);
  const limit = exchange.settings.config.batch_size;
  if (limit !== undefined && events.length > limit && events.length > 0) {
    const message = `Batch size ${events.length} exceeds configured limit ${limit}`;
    throw new Refusal(RPC.invalidParams, message, "batch_too_large", {
      size: events.length,
      batch_size: limit,
    });
  }
  const session = exchange.session(events[0]);
  const decisions: string[] = [];
  for (const [index, event] of events.entries()) {
    refuseMisfit(exchange, event, index);
    const deadline = exchange.deadline();
    const call = exchange.eventCall(event, session, deadline);
    decisions.push(
      await decideOrBlock(() =>
        exchange.result(Decision, deadline, () => exchange.handlers.event(event, call)),
      ),
    );
  }
  return `{"decisions":[${decisions.join(",")}]}`;
}

function refuseMisfit(exchange: Exchange, event: AhpEvent, index: number): void {
  const fault = faultOf(event, exchange.settings.config, exchange.floats);
  if (fault) {
    const details = { ...fault.details, index };
    throw new Refusal(RPC.invalidParams, `Invalid event: ${fault.text}`, fault.reason, details);
  }
  if (isBatchable(event.event_type)) return;
  const message = `Event type ${event.event_type} cannot be batched because it does not return a generic Decision`;
  throw new Refusal(RPC.invalidParams, message, "not_batchable", { index });
}

async function decideOrBlock(decide: () => Promise<string>): Promise<string> {
  try {
    return await decide();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return encode(Decision, { decision: "block", reason: error.message });
  }
}
