import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { errorMessage } from "@reins/kit";
import type { Faults } from "../faults.ts";
import type { McpCall, McpGate, McpOutcome } from "../gate.ts";
import type { McpLimits } from "../limits.ts";
import type { Answer } from "../server/server-link.ts";
import { type Message, RPC } from "../wire/message.ts";
import { isModern } from "../wire/revision.ts";
import { methodFault, readParams, type Sender } from "./methods.ts";
import { performed } from "./outcome.ts";

/** What {@link GovernedMethods} are made of. */
export interface MethodParts {
  readonly server: string;
  readonly gate: McpGate;
  readonly faults: Faults;
  readonly limits: McpLimits;
  readonly mayAskForSampling: boolean;
}

/** The verdict on a message, with what has to be told of it in the end where it was allowed. */
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
  #underWay = 0;

  constructor(parts: MethodParts) {
    this.#parts = parts;
  }

  /** Sees a request of the agent through. Never rejects; gives the response, without its id. */
  async perform(message: Message, signal: AbortSignal, send: () => Promise<Answer>): Promise<Message> {
    const decision = await this.decide(message, "agent request", signal);
    if (!decision.allowed) return refused(decision.reason);
    const loss = { text: "it was cancelled before it was performed", delivered: false };
    const answer = signal.aborted ? { loss } : await send();
    const { outcome, response } = performed(answer, isModern(message), this.#parts.mayAskForSampling);
    const fault = await decision.report(outcome);
    return fault === undefined ? response : { jsonrpc: "2.0", error: { code: RPC.internal, message: fault } };
  }

  /** Passes a notification of the agent on, if it may be. Never rejects. */
  async tell(message: Message, signal: AbortSignal, send: () => void): Promise<void> {
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
    const { gate, faults, limits } = this.#parts;
    const { call, undecidable } = this.#describe(message, sender);
    const bound = this.#underWay >= limits.callsInFlight ? "too many messages wait for a verdict" : undefined;
    const fault = bound ?? methodFault(call.method) ?? undecidable;
    if (fault !== undefined) {
      await this.#noteRefused(call, fault);
      return { allowed: false, reason: `${call.method} was not passed on: ${fault}` };
    }
    this.#underWay += 1;
    try {
      const decided = await gate.decide(call, signal);
      if (!decided.allowed) return decided;
      const report = (outcome: McpOutcome) => this.#report(call, outcome);
      if (isDeepStrictEqual(decided.arguments, call.arguments)) return { allowed: true, report };
      const reason = `${call.method} would pass with other arguments, which cannot be put into it`;
      await report({ kind: "failed", reason, performed: false });
      return { allowed: false, reason };
    } catch (error) {
      faults.note("gate_failed", `${call.method} could not be decided`, error);
      return {
        allowed: false,
        reason: `it could not be decided, so it was not done: ${errorMessage(error)}`,
      };
    } finally {
      this.#underWay -= 1;
    }
  }

  #describe(message: Message, sender: Sender): { readonly call: McpCall; readonly undecidable?: string } {
    const read = readParams(message);
    const method = String(message.method);
    const from = sender === "server request" ? "server" : "agent";
    const call = { id: randomUUID(), server: this.#parts.server, from, method, tool: method } as const;
    return {
      call: { ...call, arguments: read.arguments, continues: false },
      ...(read.undecidable !== undefined && {
        undecidable: `its parameters cannot be decided about: ${read.undecidable}`,
      }),
    };
  }

  async #noteRefused(call: McpCall, reason: string): Promise<void> {
    try {
      await this.#parts.gate.refused?.(call, reason);
    } catch (error) {
      this.#parts.faults.note("gate_failed", "a refusal could not be told", error);
    }
  }

  /** Gives why it could not be reported, if so. */
  async #report(call: McpCall, outcome: McpOutcome): Promise<string | undefined> {
    try {
      await this.#parts.gate.report(call, outcome);
      return undefined;
    } catch (error) {
      this.#parts.faults.note("gate_failed", `what came of ${call.method} could not be reported`, error);
      return `it was passed on, but what came of it could not be put on record: ${errorMessage(error)}`;
    }
  }
}

/** The answer to a request that was not passed on. */
export function refused(reason: string): Message {
  return { jsonrpc: "2.0", error: { code: RPC.refused, message: reason } };
}
