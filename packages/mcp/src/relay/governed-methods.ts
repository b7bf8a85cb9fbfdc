import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { errorMessage } from "@reins/kit";
import { type McpCall, type McpOutcome, SafeGate, type ServerContext } from "../gate.ts";
import { failure, isModern, type Message, objectIn, RPC, toNearlyPlain, toPlain } from "../message.ts";
import type { ServerAnswer } from "../server/server-run.ts";
import { performed } from "./outcome.ts";

/** What {@link GovernedMethods} are made of. */
export type MethodParts = Omit<ServerContext, "hide" | "clock">;

/** The decision on a message; the outcome of an allowed one has to be reported. */
export type MethodDecision =
  | { readonly allowed: true; report(outcome: McpOutcome): Promise<string | undefined> }
  | { readonly allowed: false; readonly reason: string };

/**
 * Every message between an agent and a server that is neither the call of a tool nor bookkeeping of the protocol:
 * resources, prompts, completions, tasks, what a server asks of the agent, and methods that no specification knows. Each
 * is decided at most once, passed on only if it was allowed, and each allowed one is reported exactly once.
 */
export class GovernedMethods {
  readonly #parts: MethodParts;
  readonly #gate: SafeGate;
  #underWay = 0;

  constructor(parts: MethodParts) {
    this.#parts = parts;
    this.#gate = new SafeGate(parts);
  }

  /** Sees a request of the agent through. Never rejects; gives the response, without its id. */
  async perform(message: Message, signal: AbortSignal, send: () => Promise<ServerAnswer>): Promise<Message> {
    const decision = await this.decide(message, "agent request", signal);
    if (!decision.allowed) return refused(decision.reason);
    const loss = { text: "it was cancelled before it was performed", delivered: false };
    const answer = signal.aborted ? { loss } : await send();
    const { outcome, response } = performed(answer, isModern(message), this.#parts.mayAskForSampling);
    const unrecorded = await decision.report(outcome);
    return unrecorded === undefined ? response : failure(RPC.internal, `it was passed on, but ${unrecorded}`);
  }

  /** Passes a notification of the agent on, if it may be. Never rejects. */
  async notify(message: Message, signal: AbortSignal, send: () => void): Promise<void> {
    const decision = await this.decide(message, "agent notification", signal);
    if (!decision.allowed) return;
    if (signal.aborted) {
      await decision.report({
        kind: "failed",
        reason: "the session ended before it was sent",
        performed: false,
      });
      return;
    }
    send();
    await decision.report({ kind: "completed", result: null });
  }

  /** Decides about a message. Never rejects: what cannot be decided is refused. */
  async decide(message: Message, sender: Sender, signal: AbortSignal): Promise<MethodDecision> {
    const { call, undecidable } = this.#describe(message, sender);
    const isTooMany = this.#underWay >= this.#parts.limits.callsInFlight;
    const bound = isTooMany ? "too many messages wait for a verdict" : undefined;
    const fault = bound ?? methodFault(call.method) ?? undecidable;
    if (fault !== undefined) {
      await this.#gate.refused(call, fault);
      return { allowed: false, reason: `${call.method} was not passed on: ${fault}` };
    }
    this.#underWay += 1;
    const decided = await this.#gate.decide(call, signal);
    this.#underWay -= 1;
    if (!decided.allowed) return decided;
    const report = (outcome: McpOutcome) => this.#gate.report(call, outcome);
    if (isDeepStrictEqual(decided.arguments, call.arguments)) return { allowed: true, report };
    const reason = `${call.method} would pass with other arguments, which cannot be put into it`;
    await report({ kind: "failed", reason, performed: false });
    return { allowed: false, reason };
  }

  #describe(message: Message, sender: Sender): { readonly call: McpCall; readonly undecidable?: string } {
    const read = readParams(message);
    const method = String(message.method);
    const from = sender === "server request" ? "server" : "agent";
    const call = { id: randomUUID(), server: this.#parts.name, from, method, tool: method } as const;
    return {
      call: { ...call, arguments: read.arguments, continues: false },
      ...(read.undecidable !== undefined && {
        undecidable: `its parameters cannot be decided about: ${read.undecidable}`,
      }),
    };
  }
}

/** The answer to a request that was not passed on. */
export function refused(reason: string): Message {
  return failure(RPC.refused, reason);
}

/** Requests of an agent that keep a connection alive or are governed where they are handled. */
const AGENT_REQUESTS = new Set(["initialize", "ping", "server/discover", "tools/list", "tools/call"]);

/** Notifications of an agent that belong to the protocol's own bookkeeping. */
const AGENT_NOTIFICATIONS = new Set([
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/roots/list_changed",
]);

/** Requests of a server that belong to the protocol's own bookkeeping. */
const SERVER_REQUESTS = new Set(["ping"]);

/** The other methods of the revisions of the specification; each is decided. */
const DECIDED = [
  "completion/complete",
  "elicitation/create",
  "logging/setLevel",
  "messages/listen",
  "notifications/elicitation/complete",
  "notifications/message",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
  "notifications/subscriptions/acknowledged",
  "notifications/tasks/status",
  "notifications/tools/list_changed",
  "prompts/get",
  "prompts/list",
  "resources/list",
  "resources/read",
  "resources/subscribe",
  "resources/templates/list",
  "resources/unsubscribe",
  "roots/list",
  "sampling/createMessage",
  "subscriptions/listen",
  "tasks/cancel",
  "tasks/get",
  "tasks/list",
  "tasks/result",
  "tasks/update",
];

/** Every method of the specification, by how it looks when case and blanks do not count. */
const KNOWN = new Map(
  [...AGENT_REQUESTS, ...AGENT_NOTIFICATIONS, ...SERVER_REQUESTS, ...DECIDED].map((method) => [
    folded(method),
    method,
  ]),
);

/** Who sent a message, and whether an answer is waited for. */
export type Sender = "agent request" | "agent notification" | "server request";

const HOUSEKEEPING: Readonly<Record<Sender, ReadonlySet<string>>> = {
  "agent request": AGENT_REQUESTS,
  "agent notification": AGENT_NOTIFICATIONS,
  "server request": SERVER_REQUESTS,
};

/** Whether a message passes without a verdict of its own: bookkeeping of the protocol, spelled exactly. */
export function isHousekeeping(method: unknown, sender: Sender): boolean {
  return typeof method === "string" && HOUSEKEEPING[sender].has(method);
}

/**
 * Why a method cannot be decided, if so. A server that does not mind case would take `tools/Call` for `tools/call`, past
 * every rule that names the tool.
 */
function methodFault(method: string): string | undefined {
  const meant = KNOWN.get(folded(method));
  if (meant === undefined || meant === method) return undefined;
  return `${JSON.stringify(method.slice(0, 80))} is not how ${meant} is written`;
}

function folded(method: string): string {
  return method
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^a-z/]/g, "");
}

/** What a message asks for, as far as it can be decided about. */
interface ReadParams {
  readonly arguments: unknown;
  readonly undecidable?: string;
}

/** The parameters of a message as a gate sees them: all but what the protocol itself puts into `_meta`. */
function readParams(message: Message): ReadParams {
  const { params = {} } = message;
  const meta = objectIn(params, "_meta");
  const own = Object.entries(meta ?? {}).filter(([name]) => !isProtocolMeta(name));
  const { _meta, ...others } = objectIn(message, "params") ?? {};
  const given = meta ? { ...others, ...(own.length > 0 && { _meta: Object.fromEntries(own) }) } : params;
  try {
    return { arguments: toPlain(given) };
  } catch (error) {
    return { arguments: toNearlyPlain(given), undecidable: errorMessage(error) };
  }
}

function isProtocolMeta(name: string): boolean {
  return name === "progressToken" || name.startsWith("io.modelcontextprotocol/");
}
