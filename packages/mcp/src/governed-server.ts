import type { Socket } from "node:net";
import type { Clock } from "@reins/kit";
import { HttpEndpoint } from "./agent/http-endpoint.ts";
import { StreamAgent } from "./agent/stream-agent.ts";
import { type Fault, type FaultKind, Faults } from "./faults.ts";
import type { McpGate } from "./gate.ts";
import type { McpLimits } from "./limits.ts";
import type { AgentLink } from "./relay/agent-request.ts";
import { Conversation } from "./relay/conversation.ts";
import { GovernedCalls } from "./relay/governed-calls.ts";
import { GovernedMethods } from "./relay/governed-methods.ts";
import type { OpenLink } from "./server/server-run.ts";
import { Upstream } from "./server/upstream.ts";
import { type KnownTool, ToolCatalog } from "./tools/catalog.ts";

/** What a {@link GovernedServer} is made of. */
interface GovernedParts {
  readonly name: string;
  readonly gate: McpGate;
  readonly open: OpenLink;
  /** Removes secrets from a text that the agent gets to read. */
  readonly hide: (text: string) => string;
  readonly limits: McpLimits;
  readonly clock: Clock;
  readonly mayAskForSampling: boolean;
  readonly onFault: ((fault: Fault) => void) | undefined;
}

/** A server of one session behind the gate. Every connection of the agent gets a server process of its own. */
export class GovernedServer {
  readonly #parts: GovernedParts;
  readonly #faults: Faults;
  readonly #catalog: ToolCatalog;
  readonly #calls: GovernedCalls;
  readonly #methods: GovernedMethods;
  readonly #conversations = new Set<Conversation>();
  readonly #leaving = new Set<Promise<void>>();
  readonly http: HttpEndpoint;
  #isClosed = false;

  constructor(parts: GovernedParts) {
    const { name: server, gate, limits } = parts;
    this.#parts = parts;
    this.#faults = new Faults(server, parts.onFault);
    this.#catalog = new ToolCatalog(server, gate, this.#faults, limits.tools);
    this.#calls = new GovernedCalls({ ...parts, server, catalog: this.#catalog, faults: this.#faults });
    this.#methods = new GovernedMethods({ ...parts, server, faults: this.#faults });
    this.http = new HttpEndpoint({
      ...parts,
      faults: this.#faults,
      converse: (agent) => this.#converse(agent),
    });
  }

  /** Serves an agent that connects over the socket. */
  enter(socket: Socket, first: Buffer): void {
    if (this.#isClosed || this.#leaving.size >= this.#parts.limits.connections) {
      socket.destroy();
      return;
    }
    const served = this.#serve(socket, first).finally(() => this.#leaving.delete(served));
    this.#leaving.add(served);
  }

  /** The tools as last listed. */
  tools(): readonly KnownTool[] {
    return this.#catalog.tools();
  }

  /** How much was wrong with the server so far. */
  faults(): Partial<Record<FaultKind, number>> {
    return this.#faults.counts();
  }

  /** Ends everything; the outcome of calls in flight is reported. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.http.close(), ...[...this.#conversations].map((one) => one.end())]);
    await Promise.all(this.#leaving);
  }

  async #serve(socket: Socket, first: Buffer): Promise<void> {
    const agent = new StreamAgent(socket, this.#parts.limits);
    const conversation = this.#converse(agent);
    const left = agent.serve(conversation, first);
    await Promise.race([left, conversation.ended]);
    await conversation.end();
    agent.hangUp();
  }

  #converse(agent: AgentLink): Conversation {
    const parts = { ...this.#parts, faults: this.#faults };
    const conversation = new Conversation(
      {
        ...parts,
        calls: this.#calls,
        methods: this.#methods,
        catalog: this.#catalog,
        openUpstream: (events) => new Upstream(parts, events),
      },
      agent,
    );
    this.#conversations.add(conversation);
    void conversation.ended.then(() => this.#conversations.delete(conversation));
    return conversation;
  }
}
