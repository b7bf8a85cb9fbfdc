import type { AgentLink } from "../agent/agent-link.ts";
import type { McpLimits } from "../limits.ts";
import { type Message, objectIn, RPC, sameId } from "../wire/message.ts";
import { NO_SAMPLING, SAMPLING } from "./sampling.ts";

interface Open {
  /** The server's own id, of whatever type. */
  readonly id: unknown;
  respond(response: Message): void;
}

/** What the server asks the agent, under ids of ours. */
export class ServerRequests {
  readonly #agent: AgentLink;
  readonly #limits: McpLimits;
  readonly #mayAskForSampling: boolean;
  readonly #open = new Map<number, Open>();
  #lastId = 0;

  constructor(agent: AgentLink, limits: McpLimits, mayAskForSampling: boolean) {
    this.#agent = agent;
    this.#limits = limits;
    this.#mayAskForSampling = mayAskForSampling;
  }

  /** Passes a request on to the agent, unless it may not be made. */
  pass(message: Message, respond: (response: Message) => void): void {
    if (message.method === SAMPLING && !this.#mayAskForSampling) {
      respond(errorOf(RPC.methodNotFound, NO_SAMPLING));
      return;
    }
    if (this.#open.size >= this.#limits.requestsInFlight) {
      respond(errorOf(RPC.lost, "too many requests to the agent are under way"));
      return;
    }
    this.#lastId += 1;
    this.#open.set(this.#lastId, { id: message.id, respond });
    if (this.#agent.push({ ...message, id: this.#lastId })) return;
    this.#open.delete(this.#lastId);
    respond(errorOf(RPC.lost, "the agent cannot be asked anything"));
  }

  /** Takes the agent's answer. Says whether it was one to anything. */
  answer(response: Message): boolean {
    const { id } = response;
    const open = typeof id === "number" ? this.#open.get(id) : undefined;
    if (typeof id !== "number" || !open) return false;
    this.#open.delete(id);
    open.respond(response);
    return true;
  }

  /** Passes on that the server takes one of them back. Says whether there was one. */
  cancel(notification: Message, serverId: unknown): boolean {
    for (const [id, open] of this.#open) {
      if (!sameId(open.id, serverId)) continue;
      this.#open.delete(id);
      this.#agent.push({ ...notification, params: { ...objectIn(notification, "params"), requestId: id } });
      return true;
    }
    return false;
  }

  /** Takes all of them back, because nobody is left who asked. */
  withdraw(): void {
    const reason = "the server ended";
    for (const requestId of this.#open.keys()) {
      this.#agent.push({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } });
    }
    this.#open.clear();
  }
}

function errorOf(code: number, message: string): Message {
  return { jsonrpc: "2.0", error: { code, message } };
}
