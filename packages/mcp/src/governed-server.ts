import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { LineReader, LineWriter, messageIdIn } from "@reins/kit";
import { HttpEndpoint } from "./agent/http-endpoint.ts";
import { type Fault, type FaultKind, Faults } from "./faults.ts";
import type { ServerContext } from "./gate.ts";
import type { McpLimits } from "./limits.ts";
import { failure, type Message, RPC, readMessages } from "./message.ts";
import type { AgentLink, ReplyTo } from "./relay/agent-request.ts";
import { Conversation } from "./relay/conversation.ts";
import { GovernedCalls } from "./relay/governed-calls.ts";
import { GovernedMethods } from "./relay/governed-methods.ts";
import type { OpenLink } from "./server/server-run.ts";
import { Upstream, type UpstreamEvents } from "./server/upstream.ts";
import { type KnownTool, ToolCatalog } from "./tools/catalog.ts";

/** An agent at the other end of a stream of lines. */
class StreamAgent implements AgentLink, ReplyTo {
  readonly #stream: Duplex;
  readonly #limits: McpLimits;
  readonly #writer: LineWriter;

  constructor(stream: Duplex, limits: McpLimits) {
    this.#stream = stream;
    this.#limits = limits;
    this.#writer = new LineWriter(stream);
  }

  /** Hands what the agent says to the conversation; settles when the agent has left. */
  async serve(conversation: Conversation, first: Buffer): Promise<void> {
    const left = Promise.withResolvers<void>();
    const lines = new LineReader(
      {
        line: (text) => this.#read(text.trim(), conversation),
        refused: (fault, cut) => this.#refuse(fault, fault === "too_large" ? messageIdIn(cut) : undefined),
      },
      this.#limits.messageBytes,
    );
    this.#stream.on("data", (chunk: Buffer) => lines.push(chunk));
    this.#stream.once("end", () => left.resolve());
    this.#stream.once("close", () => left.resolve());
    lines.push(first);
    await left.promise;
  }

  /** Hangs up, once everything is written. */
  hangUp(): void {
    void this.#writer.finish().then(() => this.#stream.destroy());
  }

  send(message: Message): void {
    this.push(message);
  }

  push(message: Message): boolean {
    if (!this.#writer.write(JSON.stringify(message))) return false;
    if (this.#writer.buffered <= this.#limits.bufferedBytes) return true;
    // An agent that does not read must not be able to fill our memory.
    this.#stream.destroy();
    return false;
  }

  done(): void {}

  #read(text: string, conversation: Conversation): void {
    if (text === "") return;
    const messages = readMessages(text);
    if (!messages) this.send({ ...failure(RPC.parseError, "this is no JSON"), id: null });
    for (const message of messages ?? []) conversation.receive(message, this);
  }

  #refuse(fault: "too_large" | "invalid_utf8", id: unknown): void {
    const bound = `this message has more than ${this.#limits.messageBytes} bytes`;
    const message = fault === "too_large" ? bound : "this message is not UTF-8";
    this.send({ ...failure(RPC.invalidRequest, message), id: id ?? null });
  }
}

/** What a {@link GovernedServer} is made of. */
interface GovernedParts extends Omit<ServerContext, "faults"> {
  readonly open: OpenLink;
  readonly onFault: ((fault: Fault) => void) | undefined;
}

/** A server of one session behind the gate. Every connection of the agent gets a server process of its own. */
export class GovernedServer {
  readonly #parts: GovernedParts & ServerContext;
  readonly #catalog: ToolCatalog;
  readonly #calls: GovernedCalls;
  readonly #methods: GovernedMethods;
  readonly #conversations = new Set<Conversation>();
  readonly #leaving = new Set<Promise<void>>();
  readonly http: HttpEndpoint;
  #isClosed = false;

  constructor(parts: GovernedParts) {
    const { name, gate, limits, onFault } = parts;
    const faults = new Faults(name, onFault);
    this.#parts = { ...parts, faults };
    this.#catalog = new ToolCatalog(name, gate, faults, limits.tools);
    this.#calls = new GovernedCalls({ ...this.#parts, catalog: this.#catalog });
    this.#methods = new GovernedMethods(this.#parts);
    this.http = new HttpEndpoint({ ...this.#parts, converse: (agent) => this.#converse(agent) });
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

  /** Whether an agent is connected. */
  get isConnected(): boolean {
    return this.#conversations.size > 0;
  }

  /** Notifies agents that the tools they are offered may be others now. */
  announceTools(): void {
    for (const conversation of this.#conversations) conversation.announceTools();
  }

  /** How much was wrong with the server so far. */
  faults(): Partial<Record<FaultKind, number>> {
    return this.#parts.faults.counts();
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
    const governed = { calls: this.#calls, methods: this.#methods, catalog: this.#catalog };
    const openUpstream = (events: UpstreamEvents) => new Upstream(this.#parts, events);
    const conversation = new Conversation({ ...this.#parts, ...governed, openUpstream }, agent);
    this.#conversations.add(conversation);
    void conversation.ended.then(() => this.#conversations.delete(conversation));
    return conversation;
  }
}
