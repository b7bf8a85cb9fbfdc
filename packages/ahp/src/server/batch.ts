import { Refusal, RPC } from "../errors.ts";
import { Decision } from "../protocol/decisions.ts";
import { type AhpEvent, isBatchable } from "../protocol/event.ts";
import { BatchRequest } from "../protocol/messages.ts";
import { encode } from "../wire/encode.ts";
import { faultOf } from "./event.ts";
import type { Exchange } from "./exchange.ts";
import type { Session } from "./sessions.ts";

/** Each decision is nested in the response, its result and the list of decisions. */
const AROUND = 3;

/**
 * Decides on the events of a batch in order. A handler that fails blocks only its event; an event that cannot be
 * batched fails the whole batch.
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
  const sessions = sessionsOf(exchange, events);
  const decisions: string[] = [];
  const { clock, deadlineMs } = exchange.settings;
  const begun = clock.now().getTime();
  for (const [index, event] of events.entries()) {
    refuseMisfit(exchange, event, index);
    // All events share the deadline of one, because the sender waits no longer for a batch.
    const left = deadlineMs === undefined ? undefined : deadlineMs - (clock.now().getTime() - begun);
    if (exchange.gone?.aborted || (left !== undefined && left <= 0)) {
      const reason = exchange.gone?.aborted ? "its sender has gone" : `Timeout after ${deadlineMs}ms`;
      decisions.push(encode(Decision, { decision: "block", reason }));
      continue;
    }
    const deadline = exchange.deadline(left);
    const call = exchange.eventCall(event, sessions[index], deadline);
    decisions.push(
      await decideOrBlock(() =>
        exchange.result(Decision, deadline, () => exchange.handlers.event(event, call), { around: AROUND }),
      ),
    );
  }
  return `{"decisions":[${decisions.join(",")}]}`;
}

/** The session of each event; a batch without events needs one all the same. */
function sessionsOf(exchange: Exchange, events: readonly AhpEvent[]): (Session | undefined)[] {
  return events.length === 0 ? [exchange.session(undefined)] : events.map((event) => exchange.session(event));
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
