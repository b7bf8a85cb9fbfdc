import type { Message } from "../src/message.ts";
import type { OpenLink, ServerEvents, ServerLink } from "../src/server/server-run.ts";

/** A server that does nothing by itself: a test says when it answers, ends, or cannot be started. */
export class ScriptedServer {
  /** Everything that reached it, over all its lives. */
  readonly received: Message[] = [];
  readonly #onReceived: (message: Message) => void;
  #events: ServerEvents | undefined;
  #open: Message[] = [];
  isOutOfOrder = false;
  starts = 0;

  constructor(onReceived: (message: Message) => void = () => {}) {
    this.#onReceived = onReceived;
  }

  /** The way to it. */
  readonly open: OpenLink = async (events) => {
    if (this.isOutOfOrder) throw new Error("out of order");
    this.starts += 1;
    this.#events = events;
    const link: ServerLink = {
      send: (message) => {
        // As every link does, throws what cannot be written.
        JSON.stringify(message);
        this.received.push(message);
        this.#onReceived(message);
        if (this.#events === events && typeof message.method === "string" && "id" in message)
          this.#open.push(message);
      },
      cancel: (_id, notification) => link.send(notification),
      close: async () => this.#leave(events, "was closed"),
    };
    return link;
  };

  /** The requests it has not answered. */
  get unanswered(): readonly Message[] {
    return this.#open;
  }

  /** Says something. */
  say(message: Message): void {
    this.#events?.message(message);
  }

  /** Answers a request. */
  answer(request: Message, body: Message): void {
    this.#open = this.#open.filter((one) => one !== request);
    this.say({ jsonrpc: "2.0", id: request.id, ...body });
  }

  /** Ends. */
  crash(): void {
    if (this.#events) this.#leave(this.#events, "ended");
  }

  #leave(events: ServerEvents, how: string): void {
    if (this.#events === events) {
      this.#events = undefined;
      this.#open = [];
    }
    events.closed({ text: `the server ${how}`, delivered: true });
  }
}
