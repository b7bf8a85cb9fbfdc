import type { Duplex } from "node:stream";
import { LineReader, LineWriter, messageIdIn } from "@reins/kit";
import type { McpLimits } from "../limits.ts";
import { failure, type Message, RPC, readMessages } from "../message.ts";
import type { AgentLink, ReplyTo } from "../relay/agent-request.ts";
import type { Conversation } from "../relay/conversation.ts";

/** An agent at the other end of a stream of lines. */
export class StreamAgent implements AgentLink, ReplyTo {
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
