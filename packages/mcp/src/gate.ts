import { type Clock, errorMessage } from "@reins/kit";
import type { Faults } from "./faults.ts";
import type { McpLimits } from "./limits.ts";
import type { RpcError } from "./message.ts";

/** A tool as its server describes it. All of it is the server's claim. */
export interface McpTool {
  readonly server: string;
  readonly name: string;
  readonly description?: string;
  readonly annotations?: unknown;
  readonly inputSchema?: unknown;
  /** Everything that defines the tool, as canonical JSON; absent while the tool has not been listed. */
  readonly definition?: string;
  /** SHA-256 over the definition. */
  readonly hash?: string;
}

/**
 * One message between an agent and a server that has to be decided, before anything is done about it: a `tools/call`, or
 * any other method that is not bookkeeping of the protocol.
 */
export interface McpCall {
  /** Ours, and unique. */
  readonly id: string;
  readonly server: string;
  /** Who sent it. */
  readonly from: "agent" | "server";
  /** The method of MCP. */
  readonly method: string;
  /** The tool that is called; the method where it is no call of a tool. */
  readonly tool: string;
  readonly arguments: unknown;
  /** What the server said of the tool, if it was listed. */
  readonly description?: string;
  readonly annotations?: unknown;
  /** Whether it continues an earlier call that requested more input. */
  readonly continues: boolean;
}

/** What is decided about a call; `arguments` are those it is made with. */
export type McpDecision =
  | { readonly allowed: true; readonly arguments: unknown }
  | { readonly allowed: false; readonly reason: string };

/** What came of an allowed call. */
export type McpOutcome =
  | { readonly kind: "completed"; readonly result: unknown }
  | {
      readonly kind: "failed";
      readonly reason: string;
      /** False where the call certainly never reached the server. */
      readonly performed: boolean;
      readonly result?: unknown;
      readonly error?: RpcError;
    }
  /** It reached the server, which ended, was cancelled, or continues in the background. */
  | { readonly kind: "unknown"; readonly reason: string; readonly result?: unknown };

/** Decides the calls of one session. The host implements it. */
export interface McpGate {
  /** Whether the session may use a tool at all; one it may not is not listed. */
  mayUse(tool: McpTool): boolean | Promise<boolean>;
  /** Why the session may not use a tool; shown to an agent that calls it nevertheless. */
  reasonAgainst?(tool: McpTool): string | undefined;
  /**
   * Decides a call before it is performed; may take as long as a person does. The signal aborts when the agent no
   * longer waits, and then it should settle soon. A rejection refuses the call.
   */
  decide(call: McpCall, signal: AbortSignal): Promise<McpDecision>;
  /** Records the outcome of an allowed call, once, before the agent receives the response. */
  report(call: McpCall, outcome: McpOutcome): Promise<void>;
  /** Records a call that was refused without a decision: the tool may not be used, or a limit was reached. */
  refused?(call: McpCall, reason: string): void | Promise<void>;
  /**
   * Pins tools that were never listed before, and gives the names of those whose definition is not the pinned one: they
   * are neither offered nor called until {@link accept} says so. With it, the definition of a tool is looked up again
   * right before each call, and one that its server does not list is not called.
   */
  pin?(tools: readonly McpTool[]): Promise<ReadonlySet<string>>;
  /** Waits until a changed definition is accepted; gives the reason where it is not. */
  accept?(tool: McpTool, signal: AbortSignal): Promise<string | undefined>;
}

/** What everything about one server of a session shares. */
export interface ServerContext {
  readonly name: string;
  readonly gate: McpGate;
  /** Removes secrets from a text that the agent gets to read. */
  readonly hide: (text: string) => string;
  readonly limits: McpLimits;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly mayAskForSampling: boolean;
}

/** A gate that never rejects: what it cannot decide is refused, and each failure is noted. */
export class SafeGate {
  readonly #gate: McpGate;
  readonly #faults: Faults;

  constructor({ gate, faults }: Pick<ServerContext, "gate" | "faults">) {
    this.#gate = gate;
    this.#faults = faults;
  }

  async decide(call: McpCall, signal: AbortSignal): Promise<McpDecision> {
    try {
      return await this.#gate.decide(call, signal);
    } catch (error) {
      this.#faults.note("gate_failed", `${call.tool} could not be decided`, error);
      const reason = `it could not be decided, so it was not done: ${errorMessage(error)}`;
      return { allowed: false, reason };
    }
  }

  /** Returns why the outcome could not be recorded, if so. */
  async report(call: McpCall, outcome: McpOutcome): Promise<string | undefined> {
    try {
      await this.#gate.report(call, outcome);
      return undefined;
    } catch (error) {
      this.#faults.note("gate_failed", `what came of ${call.tool} could not be reported`, error);
      return `what came of it could not be put on record: ${errorMessage(error)}`;
    }
  }

  async refused(call: McpCall, reason: string): Promise<void> {
    try {
      await this.#gate.refused?.(call, reason);
    } catch (error) {
      this.#faults.note("gate_failed", "a refusal could not be recorded", error);
    }
  }
}
