import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { errorMessage, settlesWithin } from "@reins/kit";
import { type McpCall, SafeGate, type ServerContext } from "../gate.ts";
import { failure, isModern, type Message, objectIn, RPC, toNearlyPlain, toPlain } from "../message.ts";
import { parameterHeaders } from "../server/http-requests.ts";
import type { Upstream } from "../server/upstream.ts";
import { learnTools, type ToolCatalog } from "../tools/catalog.ts";
import type { AgentRequest } from "./agent-request.ts";
import { type Performed, performed, refusal, unlessCancelled } from "./outcome.ts";

/** What {@link GovernedCalls} are made of. */
export interface CallParts extends Omit<ServerContext, "hide"> {
  readonly catalog: ToolCatalog;
}

/**
 * The calls of one server's tools. Each is decided at most once, performed only if it was allowed, and each allowed
 * one is reported exactly once, before the agent receives the response.
 */
export class GovernedCalls {
  readonly #parts: CallParts;
  readonly #gate: SafeGate;
  #underWay = 0;
  #learning: Promise<void> | undefined;

  constructor(parts: CallParts) {
    this.#parts = parts;
    this.#gate = new SafeGate(parts);
  }

  /** Sees a call through. Never rejects; gives the response, without its id. */
  async perform(request: AgentRequest, upstream: Upstream): Promise<Message> {
    const read = CallRequest.read(request.message);
    if ("fault" in read) return failure(RPC.invalidParams, read.fault);
    this.#underWay += 1;
    try {
      return await this.#govern(read, request, upstream);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #govern(read: CallRequest, request: AgentRequest, upstream: Upstream): Promise<Message> {
    const fault = this.#overBound() ?? (await this.#faultOf(read, upstream));
    const call = this.#describe(read);
    if (fault !== undefined) {
      await this.#gate.refused(call, fault);
      return refusal(fault, read.isModern);
    }
    if (request.signal.aborted) return refusal("cancelled before it was decided", read.isModern);
    const decision = await this.#gate.decide(call, request.signal);
    if (!decision.allowed) return refusal(decision.reason, read.isModern);
    const { outcome, response } = await this.#carryOut(read, decision.arguments, request, upstream);
    const unrecorded = await this.#gate.report(call, outcome);
    return unrecorded === undefined
      ? response
      : failure(RPC.internal, `the call was made, but ${unrecorded}`);
  }

  #overBound(): string | undefined {
    const { callsInFlight } = this.#parts.limits;
    return this.#underWay > callsInFlight
      ? `more than ${callsInFlight} calls are under way; call again when some are done`
      : undefined;
  }

  async #faultOf(read: CallRequest, upstream: Upstream): Promise<string | undefined> {
    const { name: server, gate, catalog, faults } = this.#parts;
    const { tool: name } = read;
    if (read.undecidable !== undefined) return `its arguments cannot be decided about: ${read.undecidable}`;
    try {
      if (!catalog.isKnown) await this.#learn(read, upstream);
      const fault = catalog.fault(name);
      if (fault !== undefined) return `this tool cannot be called: ${fault}`;
      const tool = catalog.find(name) ?? { server, name };
      if (await gate.mayUse(tool)) return undefined;
      const why = gate.reasonAgainst?.(tool);
      return `the tool ${name} may not be used in this session${why === undefined ? "" : `: ${why}`}`;
    } catch (error) {
      faults.note("gate_failed", `it could not be decided whether ${name} may be used`, error);
      return `it could not be decided whether ${name} may be used: ${errorMessage(error)}`;
    }
  }

  /** An agent may call what it never listed; what the server says of it is looked up then, once. */
  async #learn(read: CallRequest, upstream: Upstream): Promise<void> {
    const { catalog, limits, clock } = this.#parts;
    this.#learning ??= learnTools(upstream, catalog, read.meta);
    await settlesWithin(Promise.allSettled([this.#learning]), limits.startMs, clock);
  }

  #describe(read: CallRequest): McpCall {
    const { name: server, catalog } = this.#parts;
    const { description, annotations } = catalog.find(read.tool) ?? {};
    return {
      id: randomUUID(),
      server,
      from: "agent",
      method: "tools/call",
      tool: read.tool,
      arguments: read.arguments,
      ...(description !== undefined && { description }),
      ...(annotations !== undefined && { annotations }),
      continues: read.continues,
    };
  }

  async #carryOut(
    read: CallRequest,
    decided: unknown,
    request: AgentRequest,
    upstream: Upstream,
  ): Promise<Performed> {
    const { catalog, mayAskForSampling } = this.#parts;
    if (request.signal.aborted) {
      const loss = { text: "it was cancelled before it was performed", delivered: false };
      return performed({ loss }, read.isModern, mayAskForSampling);
    }
    const schema = read.isModern ? catalog.find(read.tool)?.inputSchema : undefined;
    const asked = upstream.ask(read.withArguments(decided), { headers: parameterHeaders(schema, decided) });
    request.passedOn(asked);
    const answer = await unlessCancelled(asked.answer, request.signal, this.#parts);
    return performed(answer, read.isModern, mayAskForSampling);
  }
}

/** A `tools/call` as the agent sent it. */
export class CallRequest {
  readonly tool: string;
  /** As the gate gets to see them; an empty object when there are none. */
  readonly arguments: unknown;
  /** Why it cannot be decided, if so. */
  readonly undecidable: string | undefined;
  readonly #message: Message;
  readonly #params: Message;

  private constructor(message: Message, params: Message, tool: string) {
    this.#message = message;
    this.#params = params;
    this.tool = tool;
    const given = params.arguments ?? {};
    try {
      this.arguments = toPlain(given);
    } catch (error) {
      this.arguments = toNearlyPlain(given);
      this.undecidable = errorMessage(error);
    }
  }

  /** Reads one; gives what is wrong with it where it is none. */
  static read(message: Message): CallRequest | { readonly fault: string } {
    const params = objectIn(message, "params");
    const tool = params?.name;
    if (!params || typeof tool !== "string") return { fault: "tools/call needs the name of a tool" };
    if (params.arguments !== undefined && !objectIn(params, "arguments")) {
      return { fault: "the arguments of tools/call are an object" };
    }
    return new CallRequest(message, params, tool);
  }

  /** Whether it continues an earlier call that requested more input. */
  get continues(): boolean {
    return this.#params.inputResponses !== undefined || this.#params.requestState !== undefined;
  }

  /** Whether the agent speaks a revision in which each request stands for itself. */
  get isModern(): boolean {
    return isModern(this.#message);
  }

  /** What the agent says of itself in the request. */
  get meta(): Message | undefined {
    return objectIn(this.#params, "_meta");
  }

  /** The message with the arguments that were decided on; the very same where they are the agent's. */
  withArguments(decided: unknown): Message {
    if (isDeepStrictEqual(decided, this.arguments)) return this.#message;
    return { ...this.#message, params: { ...this.#params, arguments: decided } };
  }
}
