import { isDeepStrictEqual } from "node:util";
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
import {
  type Action,
  type ControlEvent,
  type ExternalHarness,
  isAtLeastAsStrict,
  milliseconds,
} from "@reins/policy";
import { type GatherFacts, type PendingDecision, payloadFault, payloadMembers } from "./decision.ts";
import { HarnessConnections } from "./harness-connections.ts";

const MAX_REASON = 2_000;

/** What an external harness said. `failed_open`: it failed, and the constitution says `fail: open`. */
export type HarnessAnswer = { readonly harness: string; readonly reason: string } & (
  | { readonly verdict: "allowed" | "blocked" | "ask" | "failed_open" }
  | { readonly verdict: "defer"; readonly retry_after_ms: number }
  /** `modified` replaces the payload. */
  | { readonly verdict: "modify"; readonly modified: unknown }
);

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
        harnesses.map((harness) => this.#connections.use(harness, (client) => notify(client, event))),
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
        await this.#connections.use(harness, (client) => notify(client, event));
        return { harness: name, verdict: "allowed", reason: `the harness "${name}" was notified` };
      }
      const decision = await this.#connections.use(harness, (client) =>
        client.sendEvent({ ...envelopeOf(client, type, event), payload: event.payload }, { timeoutMs }),
      );
      const answer = answerOf(decision, name);
      return { ...answer, reason: tidy(answer.reason) };
    } catch (error) {
      const why = errorMessage(error);
      const reason = tidy(`the harness "${name}" did not decide: ${why}`);
      return { harness: name, verdict: fail === "open" ? "failed_open" : "blocked", reason };
    }
  }
}

/** Notifies a harness of an event without a decision, such as the begin of a session, if it lists such events. */
async function notify(client: AhpClient, event: ControlEvent): Promise<void> {
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

/** The shortest and the longest time after which what a harness defers is decided again. */
const RETRY_MS = { least: 1_000, most: 86_400_000 };

function answerOf(decision: Decision, harness: string): HarnessAnswer {
  switch (decision.decision) {
    case "allow":
      return { harness, verdict: "allowed", reason: `the harness "${harness}" allows it` };
    case "block":
      return {
        harness,
        verdict: "blocked",
        reason: `the harness "${harness}" blocks it: ${decision.reason}`,
      };
    case "escalate": {
      const reason = `the harness "${harness}" wants a person to decide: ${decision.reason}`;
      return { harness, verdict: "ask", reason };
    }
    case "defer": {
      const reason = `the harness "${harness}" puts it off: ${decision.reason ?? "no reason given"}`;
      const retry_after_ms = Math.min(
        Math.max(Number(decision.retry_after_ms), RETRY_MS.least),
        RETRY_MS.most,
      );
      return { harness, verdict: "defer", reason, retry_after_ms };
    }
    case "modify": {
      const reason = `the harness "${harness}" changes it`;
      return { harness, verdict: "modify", reason, modified: decision.modified_payload };
    }
  }
}

/** What a harness puts in the place of the arguments. */
interface HarnessChange {
  readonly harness: string;
  readonly reason: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The change that a harness wants; `undefined` where it changes nothing, and a text where it cannot be made. */
function requestedChange(
  { harness, reason, modified }: Extract<HarnessAnswer, { verdict: "modify" }>,
  event: ControlEvent,
  action: Action,
): HarnessChange | string | undefined {
  const refused = (why: string) => `the harness "${harness}" would change it ${why}`;
  if (payloadFault(modified) !== undefined) return refused("to what is no payload");
  const given = payloadMembers(modified);
  const payload = payloadMembers(event.payload);
  if (event.event_type === "pre_prompt") {
    const isSame = Object.entries(given).every(([name, value]) => isDeepStrictEqual(value, payload[name]));
    return isSame ? undefined : { harness, reason, arguments: given };
  }
  const tool = given.tool_name ?? given.tool;
  const isWhole = Object.hasOwn(given, "arguments") && tool !== undefined;
  if (isWhole && tool !== payload.tool_name && tool !== payload.tool && tool !== action.tool)
    return refused("to the call of another tool");
  const args: unknown = isWhole ? given.arguments : given;
  if (payloadFault(args) !== undefined) return refused("to what are no arguments");
  return isDeepStrictEqual(args, action.arguments)
    ? undefined
    : { harness, reason, arguments: payloadMembers(args) };
}

/** What the stage of the external harnesses works with. */
interface HarnessPorts {
  readonly harnesses?: Harnesses;
  readonly gatherFacts: GatherFacts;
  readonly now: () => number;
}

/** Asks the external harnesses, and once more about what one of them made of the action. */
export async function askHarnesses(decision: PendingDecision, ports: HarnessPorts): Promise<void> {
  const change = await consult(decision, ports);
  if (!change) return;
  const { harness } = change;
  if (decision.modified) {
    const { from } = decision.modified;
    const first = from.by === "rule" ? `rule "${from.rule}"` : `harness "${from.harness}"`;
    decision.block(`the ${first} and the harness "${harness}" would change it in two ways`, harness);
    return;
  }
  await modifyAs(decision, change, ports);
  if (decision.verdict.verdict === "blocked") return;
  const further = await consult(decision, ports);
  if (further) decision.block(inTwoWays(harness, further.harness), further.harness);
}

/** Applies stricter verdicts of harnesses; returns the change that one of them makes, unless the action is blocked anyway. */
async function consult(
  decision: PendingDecision,
  { harnesses }: HarnessPorts,
): Promise<HarnessChange | undefined> {
  if (!harnesses) return undefined;
  let change: HarnessChange | undefined;
  for (const answer of await harnesses.ask(decision.state.policy.file.harnesses, decision.event)) {
    const { harness, reason } = answer;
    if (answer.verdict === "failed_open") {
      if (!decision.failedOpen.some((failed) => failed.harness === harness))
        decision.failedOpen.push({ harness, fail: "open", error: reason });
    } else if (answer.verdict === "modify") {
      const wanted = requestedChange(answer, decision.event, decision.input.action);
      if (wanted === undefined) continue;
      if (typeof wanted === "string") decision.block(wanted, harness);
      else if (change && !isDeepStrictEqual(change.arguments, wanted.arguments))
        decision.block(inTwoWays(change.harness, harness), harness);
      else change ??= wanted;
    } else if (isAtLeastAsStrict(decision.verdict.verdict, answer.verdict)) continue;
    else if (answer.verdict === "defer")
      decision.verdict = { verdict: "defer", reason, rule: harness, retry_after_ms: answer.retry_after_ms };
    else decision.verdict = { verdict: answer.verdict, reason, rule: harness };
  }
  const { verdict } = decision.verdict;
  return verdict === "blocked" || verdict === "defer" ? undefined : change;
}

function inTwoWays(first: string, second: string): string {
  return `the harnesses "${first}" and "${second}" would change it in two ways`;
}

/** Continues as what a harness made of it, decided again as after a rule's change; a stricter verdict stays. */
async function modifyAs(
  decision: PendingDecision,
  change: HarnessChange,
  ports: HarnessPorts,
): Promise<void> {
  const { verdict: before, input, state } = decision;
  const { harness, reason } = change;
  await decision.become({ by: "harness", harness, input }, change.arguments, ports);
  const again = decision.said;
  // What was reserved was reserved for another action.
  state.limits.release(decision.uses ?? []);
  decision.uses = undefined;
  if (again.verdict === "modify")
    decision.block(
      `the harness "${harness}" and the rule "${again.rule}" would change it in two ways`,
      again.rule,
    );
  else if (!isAtLeastAsStrict(before.verdict, again.verdict)) decision.adopt(again);
  else if (before.verdict === "allowed") decision.verdict = { verdict: "allowed", reason, rule: harness };
  // Last, so that nothing replaces the block.
  decision.checkBounds();
  decision.reserve();
}
