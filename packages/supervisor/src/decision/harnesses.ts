import {
  type AhpClient,
  type Decision,
  type Decisions,
  decode,
  EventContext,
  EventType,
  isBlocking,
  type PayloadFor,
  type SpecialisedEventType,
} from "@reins/ahp";
import { errorMessage } from "@reins/kit";
import { type ControlEvent, type ExternalHarness, milliseconds, type RuleVerdict } from "@reins/policy";
import { HarnessConnections } from "./harness-connections.ts";

const MAX_REASON = 2_000;

/** What an external harness said. */
export interface HarnessAnswer {
  readonly harness: string;
  /** Absent when the harness failed and the constitution says `fail: open`. */
  readonly verdict: RuleVerdict | undefined;
  readonly reason: string;
  /** What it puts in the place of the payload, where its verdict is `modify`. */
  readonly modified?: unknown;
  /** For the record. */
  readonly remark?: string;
}

/** The events whose answer is more than a verdict. A harness gets those that it lists as capabilities. */
const FAMILIES: readonly SpecialisedEventType[] = [
  "intent_detection",
  "context_perception",
  "memory_recall",
  "planning",
  "reasoning",
  "rate_limit",
  "confirmation",
  "idle",
];

/** The events without a decision that a harness gets where it lists them among its capabilities. */
const FORWARDED: readonly string[] = [
  "session_start",
  "session_end",
  "post_action",
  "post_response",
  "run_lifecycle",
  "task_list",
  "verification",
  "success",
  "error",
  "heartbeat",
];
/** How many of them may be under way; more are dropped, and that is an error. */
const MOST_FORWARDED = 256;

/** Asks other AHP harnesses, each within its time. One that fails blocks, unless the constitution says it may not. */
export class Harnesses {
  readonly #connections = new HarnessConnections(["pre_action", "pre_prompt", ...FAMILIES, ...FORWARDED]);

  #forwarding = 0;

  /** The answers, in the order of the constitution. */
  ask(harnesses: readonly ExternalHarness[], event: ControlEvent): Promise<HarnessAnswer[]> {
    // Events of typed families go through `advise`.
    if (FAMILIES.some((family) => family === event.event_type)) return Promise.resolve([]);
    return Promise.all(harnesses.map((harness) => this.#ask(harness, event)));
  }

  /**
   * What the first harness says that answers events of a family; nothing where none does. Rejects when one fails that,
   * by the constitution, may not.
   */
  async advise<Type extends SpecialisedEventType>(
    harnesses: readonly ExternalHarness[],
    type: Type,
    payload: PayloadFor<Type>,
  ): Promise<Decisions[Type] | undefined> {
    for (const harness of harnesses) {
      try {
        const advice = await this.#connections.use(harness, async (client) =>
          client.harness?.harness_info.capabilities.includes(type)
            ? client.sendEvent(type, payload, { timeoutMs: milliseconds(harness.timeout) })
            : undefined,
        );
        if (advice !== undefined) return advice;
      } catch (error) {
        if (harness.fail === "open") continue;
        const why = errorMessage(error);
        throw new Error(tidy(`the harness "${harness.name}" did not answer ${type}: ${why}`), {
          cause: error,
        });
      }
    }
    return undefined;
  }

  /**
   * Forwards an event that needs no decision, with its whole envelope, to the harnesses that list it. Rejects with the
   * names of those that did not get it.
   */
  async forward(harnesses: readonly ExternalHarness[], event: ControlEvent): Promise<void> {
    const { event_type: type } = event;
    if (!FORWARDED.includes(type)) return;
    if (this.#forwarding >= MOST_FORWARDED)
      throw new Error(`${type} was not forwarded: ${MOST_FORWARDED} events wait for other harnesses`);
    this.#forwarding += 1;
    try {
      const sent = await Promise.allSettled(
        harnesses.map((harness) => this.#connections.use(harness, (client) => tell(client, event))),
      );
      const lost = harnesses.filter((_, index) => sent[index]?.status === "rejected");
      if (lost.length > 0)
        throw new Error(`${type} could not be forwarded to ${lost.map(({ name }) => name).join(", ")}`);
    } finally {
      this.#forwarding -= 1;
    }
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#connections.close();
  }

  async #ask(harness: ExternalHarness, event: ControlEvent): Promise<HarnessAnswer> {
    const { name, fail } = harness;
    try {
      const timeoutMs = milliseconds(harness.timeout);
      const { event_type: type } = event;
      if (type !== "pre_action" && type !== "pre_prompt") {
        await this.#connections.use(harness, (client) => tell(client, event));
        return { harness: name, verdict: "allowed", reason: `the harness "${name}" was told of it` };
      }
      const decision = await this.#connections.use(harness, (client) =>
        client.sendEvent({ ...envelopeOf(client, type, event), payload: event.payload }, { timeoutMs }),
      );
      const { verdict, reason } = verdictOf(decision, name);
      const modified = decision.decision === "modify" ? { modified: decision.modified_payload } : {};
      return { harness: name, verdict, reason: tidy(reason), ...modified };
    } catch (error) {
      const why = errorMessage(error);
      const reason = tidy(`the harness "${name}" did not decide: ${why}`);
      if (fail === "open")
        return {
          harness: name,
          verdict: undefined,
          reason,
          remark: `${reason}; the constitution lets that pass`,
        };
      return { harness: name, verdict: "blocked", reason };
    }
  }
}

/** Tells a harness of an event that has no decision of its own, such as the begin of a session, where it listens to those. */
async function tell(client: AhpClient, event: ControlEvent): Promise<void> {
  const { data: type } = EventType.safeParse(event.event_type);
  if (type === undefined || isBlocking(type)) return;
  if (!client.harness?.harness_info.capabilities.includes(type)) return;
  await client.sendNotification({ ...envelopeOf(client, type, event), payload: event.payload });
}

/** The event as its agent sent it; only what would let another act in its place is left out. */
function envelopeOf<Type extends EventType>(client: AhpClient, type: Type, event: ControlEvent) {
  const { session_id, agent_id, depth, context } = event;
  const { session_token: _, ...metadata } = event.metadata ?? {};
  return {
    event_type: type,
    session_id,
    agent_id,
    depth,
    timestamp: event.timestamp ?? client.event("heartbeat", {}).timestamp,
    ...(isContext(context) && { context }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

function isContext(context: unknown): context is EventContext {
  try {
    decode(EventContext, context);
    return context !== undefined && context !== null;
  } catch {
    return false;
  }
}

/** What another program says, cut to what goes into a record. */
function tidy(reason: string): string {
  return reason.slice(0, MAX_REASON).toWellFormed();
}

function verdictOf(decision: Decision, name: string): { verdict: RuleVerdict; reason: string } {
  switch (decision.decision) {
    case "allow":
      return { verdict: "allowed", reason: `the harness "${name}" allows it` };
    case "block":
      return { verdict: "blocked", reason: `the harness "${name}" blocks it: ${decision.reason}` };
    case "escalate":
      return { verdict: "ask", reason: `the harness "${name}" wants a person to decide: ${decision.reason}` };
    case "defer":
      return {
        verdict: "defer",
        reason: `the harness "${name}" puts it off: ${decision.reason ?? "no reason given"}`,
      };
    case "modify":
      return { verdict: "modify", reason: `the harness "${name}" changes it` };
  }
}
