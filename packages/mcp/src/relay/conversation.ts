import { errorMessage, settlesWithin } from "@reins/kit";
import type { ServerContext } from "../gate.ts";
import { failure, isObject, kindOf, type Message, objectIn, RPC, sameId } from "../message.ts";
import type { ServerAnswer } from "../server/server-run.ts";
import type { Upstream, UpstreamEvents } from "../server/upstream.ts";
import { hidesText, type ToolCatalog, visibleProse } from "../tools/catalog.ts";
import { type AgentLink, AgentRequest, type ReplyTo } from "./agent-request.ts";
import type { GovernedCalls } from "./governed-calls.ts";
import { type GovernedMethods, isHousekeeping } from "./governed-methods.ts";
import { asksForSampling, lossResponse, NO_SAMPLING, unlessCancelled, withoutSampling } from "./outcome.ts";
import { ServerRequests } from "./server-requests.ts";

/** What a {@link Conversation} is made of. */
export interface ConversationParts
  extends Pick<ServerContext, "faults" | "limits" | "clock" | "mayAskForSampling"> {
  readonly calls: GovernedCalls;
  readonly methods: GovernedMethods;
  readonly catalog: ToolCatalog;
  openUpstream(events: UpstreamEvents): Upstream;
}

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

/**
 * Relays between an agent and a server. Calls and lists of tools are governed by what they name, every other method
 * as itself; only bookkeeping of the protocol passes as it is, all under ids of our own.
 */
export class Conversation {
  readonly #parts: ConversationParts;
  readonly #agent: AgentLink;
  readonly #upstream: Upstream;
  readonly #requests = new Set<AgentRequest>();
  readonly #work = new Set<Promise<void>>();
  readonly #fromServer: ServerRequests;
  #announcesTools = false;
  readonly #ended = Promise.withResolvers<void>();
  readonly #leaving = new AbortController();
  #ending: Promise<void> | undefined;

  constructor(parts: ConversationParts, agent: AgentLink) {
    this.#parts = parts;
    this.#agent = agent;
    this.#fromServer = new ServerRequests(agent, parts);
    this.#upstream = parts.openUpstream({
      request: (message, respond) => this.#fromServer.pass(message, respond),
      notification: (message) => this.#route(message),
      over: () => this.#fromServer.withdraw(),
      restarted: () => this.announceTools(),
    });
  }

  /** Settles when it is over. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** How many requests of the agent are under way. */
  get underWay(): number {
    return this.#requests.size;
  }

  /** Takes a message of the agent. Gives the request it made, if it is one that takes time. */
  receive(message: unknown, reply: ReplyTo): AgentRequest | undefined {
    if (isObject(message)) {
      switch (kindOf(message)) {
        case "request":
          return this.#request(message, reply);
        case "notification":
          this.#notification(message);
          reply.done();
          return undefined;
        case "response":
          if (!this.#fromServer.answer(message))
            this.#parts.faults.note("unmatched", "the agent answered nothing");
          reply.done();
          return undefined;
      }
    }
    const id = isObject(message) ? (message.id ?? null) : null;
    reply.send({ ...failure(RPC.invalidRequest, "this is no JSON-RPC message"), id });
    reply.done();
    return undefined;
  }

  /** Cancels what is in flight and ends the server. */
  end(): Promise<void> {
    this.#ending ??= this.#end().finally(() => this.#ended.resolve());
    return this.#ending;
  }

  async #end(): Promise<void> {
    this.#leaving.abort(new Error("the session is over"));
    this.#fromServer.withdraw();
    for (const request of this.#requests) request.cancel();
    await this.#upstream.close();
    const { limits, clock, faults } = this.#parts;
    if (await settlesWithin(Promise.allSettled(this.#work), limits.cancelMs, clock)) return;
    faults.note("gate_failed", `${this.#work.size} calls were still being decided at the end`);
  }

  #request(message: Message, reply: ReplyTo): AgentRequest | undefined {
    const { limits, clock, mayAskForSampling } = this.#parts;
    const isTooMany = this.#requests.size >= limits.requestsInFlight + limits.callsInFlight;
    if (isTooMany || this.#ending) {
      const text = isTooMany ? "too many requests are under way" : "the session is over";
      reply.send({ ...failure(RPC.lost, text), id: message.id });
      reply.done();
      return undefined;
    }
    const request = new AgentRequest(mayAskForSampling ? message : withoutSampling(message), reply);
    this.#requests.add(request);
    request.keepAlive(clock, limits.keepAliveMs);
    const work = this.#handle(request)
      .catch((error) => failure(RPC.internal, errorMessage(error)))
      .then((response) => request.answer(response))
      .finally(() => {
        this.#requests.delete(request);
        this.#work.delete(work);
      });
    this.#work.add(work);
    return request;
  }

  async #handle(request: AgentRequest): Promise<Message> {
    switch (request.message.method) {
      case "tools/call":
        return this.#parts.calls.perform(request, this.#upstream);
      case "tools/list":
        return this.#list(request);
      case "initialize":
        return this.#introduce(request);
      case "server/discover":
        return this.#instructed(await this.#pass(request));
      default:
        return this.#perform(request);
    }
  }

  async #perform(request: AgentRequest): Promise<Message> {
    const { message } = request;
    if (isHousekeeping(message.method, "agent request")) return this.#pass(request);
    const send = () => {
      const asked = this.#upstream.ask(message);
      request.passedOn(asked);
      return unlessCancelled(asked.answer, request.signal, this.#parts);
    };
    const response = await this.#parts.methods.perform(message, request.signal, send);
    return subscribed(this.#readable(message.method, response), "result", request);
  }

  /** A list with the hidden characters of its descriptions written out, and without what hides them elsewhere. */
  #readable(method: unknown, response: Message): Message {
    const member = LISTS.get(method);
    const result = objectIn(response, "result");
    if (member === undefined || !result) return response;
    const listed = Array.isArray(result[member]) ? result[member] : [];
    const shown = listed.filter((one) => !(isObject(one) && hidesText(one)));
    const hiding = listed.length - shown.length;
    if (hiding === 0) return { ...response, result: visibleProse(result) };
    this.#parts.faults.note("tool_refused", `${hiding} ${member} that hide something in names or values`);
    return { ...response, result: visibleProse({ ...result, [member]: shown }) };
  }

  async #pass(request: AgentRequest): Promise<Message> {
    const asked = this.#upstream.ask(request.message);
    request.passedOn(asked);
    const answer: ServerAnswer = await asked.answer;
    if ("loss" in answer) return lossResponse(answer.loss);
    const { response } = answer;
    if (!this.#parts.mayAskForSampling && asksForSampling(response))
      return failure(RPC.methodNotFound, NO_SAMPLING);
    return subscribed(response, "result", request);
  }

  async #introduce(request: AgentRequest): Promise<Message> {
    const response = await this.#instructed(await this.#pass(request));
    const result = objectIn(response, "result");
    const capabilities = objectIn(result, "capabilities");
    const tools = objectIn(capabilities, "tools");
    if (!tools) return response;
    this.#announcesTools = true;
    // A tool may be held back, and released, by us.
    const announced = { ...capabilities, tools: { ...tools, listChanged: true } };
    return { ...response, result: { ...result, capabilities: announced } };
  }

  /** The response of a server that introduces itself, without instructions that are not the pinned ones. */
  async #instructed(response: Message): Promise<Message> {
    const result = objectIn(response, "result");
    if (!result || result.instructions === undefined) return response;
    const { instructions, ...others } = result;
    const admitted =
      typeof instructions === "string"
        ? await this.#parts.catalog.admitInstructions(instructions)
        : undefined;
    return {
      ...response,
      result: { ...others, ...(admitted !== undefined && { instructions: admitted }) },
    };
  }

  async #list(request: AgentRequest): Promise<Message> {
    const response = await this.#pass(request);
    const result = objectIn(response, "result");
    if (!result) return response;
    const cursor = objectIn(request.message, "params")?.cursor;
    const { tools, nextCursor } = result;
    if (!Array.isArray(tools)) return failure(RPC.internal, "the server's list of tools cannot be read");
    const page = typeof cursor === "string" ? cursor : undefined;
    const shown = await this.#parts.catalog.admit(page, tools, nextCursor);
    return { ...response, result: { ...result, tools: shown } };
  }

  #notification(message: Message): void {
    const { method } = message;
    if (method === "tools/call") {
      this.#parts.faults.note("unmatched", "a tools/call without an id is not made");
      return;
    }
    if (!isHousekeeping(method, "agent notification")) {
      this.#decideNotification(message);
      return;
    }
    if (method !== "notifications/cancelled") {
      this.#upstream.notify(message);
      return;
    }
    const id = objectIn(message, "params")?.requestId;
    for (const request of this.#requests) if (sameId(request.id, id)) request.cancel(message);
  }

  /** A notification may have as much of an effect as a request. */
  #decideNotification(message: Message): void {
    const { methods } = this.#parts;
    if (this.#ending) return;
    const work = methods
      .notify(message, this.#leaving.signal, () => this.#upstream.notify(message))
      .finally(() => this.#work.delete(work));
    this.#work.add(work);
  }

  /** Routes a notification of the server to the request that it belongs to. */
  #route(message: Message): void {
    const params = objectIn(message, "params");
    const subscription = objectIn(params, "_meta")?.[SUBSCRIPTION];
    const token = message.method === "notifications/progress" ? params?.progressToken : undefined;
    if (message.method === "notifications/cancelled") this.#routeCancelled(message, params?.requestId);
    else if (subscription !== undefined) this.#routeUpdate(message, subscription);
    else if (token !== undefined) this.#routeProgress(message, token);
    else this.#push(message);
  }

  #routeUpdate(message: Message, subscription: unknown): void {
    const request = this.#find((one) => one.isKnownAs(subscription));
    if (request) request.note(subscribed(message, "params", request));
    else this.#parts.faults.note("unmatched", "an update of an unknown subscription");
  }

  #routeProgress(message: Message, token: unknown): void {
    const request = this.#find((one) => one.hasToken(token));
    if (request) request.note(message);
    else this.#push(message);
  }

  #push(message: Message): void {
    if (!this.#agent.push(message)) this.#parts.faults.note("undelivered", String(message.method));
  }

  /** A server takes back what it asked, or ends what the agent subscribed to. */
  #routeCancelled(message: Message, id: unknown): void {
    if (this.#fromServer.cancel(message, id)) return;
    const request = this.#find((one) => one.isKnownAs(id) && one.message.method === "subscriptions/listen");
    if (request)
      request.note({ ...message, params: { ...objectIn(message, "params"), requestId: request.id } });
    else this.#parts.faults.note("unmatched", "nothing that could be cancelled");
  }

  #find(fits: (request: AgentRequest) => boolean): AgentRequest | undefined {
    return [...this.#requests].find(fits);
  }

  /** Notifies the agent that the tools it is offered may be others now. */
  announceTools(): void {
    if (this.#announcesTools)
      this.#agent.push({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
  }
}

/** Lists that models read, beside that of tools, and the members that hold them. */
const LISTS: ReadonlyMap<unknown, string> = new Map([
  ["prompts/list", "prompts"],
  ["resources/list", "resources"],
  ["resources/templates/list", "resourceTemplates"],
]);

/** The message with the agent's id in place of ours, where it names the subscription that it belongs to. */
function subscribed(message: Message, place: "params" | "result", request: AgentRequest): Message {
  const body = objectIn(message, place);
  const meta = objectIn(body, "_meta");
  if (!body || !meta || !request.isKnownAs(meta[SUBSCRIPTION])) return message;
  return { ...message, [place]: { ...body, _meta: { ...meta, [SUBSCRIPTION]: request.id } } };
}
