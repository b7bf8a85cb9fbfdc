import type { JsonObject } from "./json-rpc.ts";

/** Receives messages in order; the next one is delivered when the promise settles. */
type MessageListener = (message: JsonObject) => void | Promise<void>;

/** A connection that carries whole messages in order, in both directions. */
export interface Channel {
  /** Resolves when there is room for another message; rejects when the channel has closed. */
  send(message: JsonObject): Promise<void>;
  /** Sets the listener. Messages that arrived before are delivered to it first. */
  onMessage(listener: MessageListener): void;
  /** Resolves with the reason when the channel closes. */
  readonly closed: Promise<Error>;
}

/** Two connected channels within this process, and a function that closes both. */
export function channelPair(): [Channel, Channel, (reason: Error) => void] {
  const [left, right] = [new ChannelEnd(), new ChannelEnd()];
  const close = (reason: Error) => {
    left.closed.resolve(reason);
    right.closed.resolve(reason);
  };
  return [left.connectedTo(right), right.connectedTo(left), close];
}

class ChannelEnd {
  readonly closed = Promise.withResolvers<Error>();
  #listener: MessageListener | undefined;
  #waiting: JsonObject[] = [];
  #last: Promise<void> = Promise.resolve();

  connectedTo(other: ChannelEnd): Channel {
    return {
      send: (message) => other.#deliver(message),
      onMessage: (listener) => this.#listen(listener),
      closed: this.closed.promise,
    };
  }

  #deliver(message: JsonObject): Promise<void> {
    const listener = this.#listener;
    if (!listener) {
      this.#waiting.push(message);
      return Promise.resolve();
    }
    const delivered = this.#last.then(() => listener(message));
    this.#last = delivered.catch(() => undefined);
    return this.#last;
  }

  #listen(listener: MessageListener): void {
    this.#listener = listener;
    for (const message of this.#waiting.splice(0)) void this.#deliver(message);
  }
}
