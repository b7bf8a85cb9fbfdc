import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { errorMessage, settlesWithin } from "@reins/kit";
import { type McpCall, type McpTool, SafeGate, type ServerContext } from "../gate.ts";
import { failure, isModern, type Message, objectIn, RPC, toNearlyPlain, toPlain } from "../message.ts";
import { parameterHeaders } from "../server/http-requests.ts";
import type { Upstream } from "../server/upstream.ts";
import { confirmTool, type KnownTool, learnTools, type ToolCatalog } from "../tools/catalog.ts";
import type { AgentRequest } from "./agent-request.ts";
import { type Performed, performed, refusal, unlessCancelled } from "./outcome.ts";

/** A verdict that took longer counts only if the tool is still defined as it was, in milliseconds. */
const FRESH_MS = 1_000;

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
    const { clock } = this.#parts;
    const found = this.#overBound() ?? (await this.#find(read, request, upstream));
    const call = this.#describe(read, typeof found === "string" ? undefined : found);
    if (typeof found === "string") {
      await this.#gate.refused(call, found);
      return refusal(found, read.isModern);
    }
    if (request.signal.aborted) return refusal("cancelled before it was decided", read.isModern);
    const asked = clock.now().getTime();
    const decision = await this.#gate.decide(call, request.signal);
    if (!decision.allowed) return refusal(decision.reason, read.isModern);
    const isLate = clock.now().getTime() - asked > FRESH_MS;
    const changed = isLate ? await this.#changedSince(found, read, upstream) : undefined;
    const { outcome, response } =
      changed === undefined
        ? await this.#carryOut(read, decision.arguments, request, upstream)
        : unperformed(changed, read.isModern);
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

  /** The tool that is called, as its server describes it now, or why it cannot be called. */
  async #find(read: CallRequest, request: AgentRequest, upstream: Upstream): Promise<McpTool | string> {
    const { name: server, gate, catalog, faults } = this.#parts;
    const { tool: name } = read;
    if (read.undecidable !== undefined) return `its arguments cannot be decided about: ${read.undecidable}`;
    try {
      if (!catalog.isKnown) await this.#learn(read, upstream);
      const confirmed = gate.pin ? await this.#confirm(read, upstream) : undefined;
      const fault = catalog.fault(name);
      if (fault !== undefined) return `this tool cannot be called: ${fault}`;
      if (gate.pin && !confirmed) return `this tool cannot be called: its server lists no tool ${name}`;
      const tool = confirmed ?? catalog.find(name) ?? { server, name };
      if (!(await gate.mayUse(tool))) return notUsable(name, gate.reasonAgainst?.(tool));
      if (!confirmed?.isHeld) return tool;
      const refused = await gate.accept?.(tool, request.signal);
      return refused === undefined ? tool : `the definition of ${name} changed, and ${refused}`;
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

  /** The tool as its server lists it now. Rejects if it does not say so in time. */
  async #confirm(read: CallRequest, upstream: Upstream): Promise<KnownTool | undefined> {
    const { catalog, limits, clock } = this.#parts;
    const confirming = confirmTool(upstream, catalog, read.tool, read.meta);
    if (await settlesWithin(Promise.allSettled([confirming]), limits.startMs, clock)) return confirming;
    throw new Error("its server did not list its tools in time");
  }

  /** Why a call is not made that was decided about a tool, if its definition is another one by now. */
  async #changedSince(tool: McpTool, read: CallRequest, upstream: Upstream): Promise<string | undefined> {
    if (!this.#parts.gate.pin) return undefined;
    try {
      const now = await this.#confirm(read, upstream);
      return now?.hash === tool.hash ? undefined : `the definition of ${read.tool} changed meanwhile`;
    } catch (error) {
      return `it could not be confirmed that ${read.tool} is what it was: ${errorMessage(error)}`;
    }
  }

  #describe(read: CallRequest, tool: McpTool | undefined): McpCall {
    const { name: server, catalog } = this.#parts;
    const { description, annotations } = tool ?? catalog.find(read.tool) ?? {};
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

function notUsable(name: string, why: string | undefined): string {
  return `the tool ${name} may not be used in this session${why === undefined ? "" : `: ${why}`}`;
}

/** A call that was allowed and is not made. */
function unperformed(reason: string, isModern: boolean): Performed {
  return { outcome: { kind: "failed", reason, performed: false }, response: refusal(reason, isModern) };
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
