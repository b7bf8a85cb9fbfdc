import type { JsonObject } from "./json-rpc.ts";

/** A way to send and take messages, whole and in order. */
export interface Channel {
  /** Sends; settles when there is room for another, and rejects when the other side has gone. */
  send(message: JsonObject): Promise<void>;
  /** Who takes the messages; the next one comes when the promise settles. */
  onMessage(listener: (message: JsonObject) => void | Promise<void>): void;
  /** Settles when the other side has gone, with why. */
  readonly closed: Promise<Error>;
}

/** Two channels that lead to each other, within this process, and what closes both. */
export function channelPair(): [Channel, Channel, (reason: Error) => void] {
  const [left, right] = [new Mouth(), new Mouth()];
  const close = (reason: Error) => {
    left.closed.resolve(reason);
    right.closed.resolve(reason);
  };
  return [left.facing(right), right.facing(left), close];
}

class Mouth {
  readonly closed = Promise.withResolvers<Error>();
  #listener: ((message: JsonObject) => void | Promise<void>) | undefined;
  #waiting: JsonObject[] = [];
  #last: Promise<void> = Promise.resolve();

  facing(other: Mouth): Channel {
    return {
      send: (message) => other.take(message),
      onMessage: (listener) => this.#listen(listener),
      closed: this.closed.promise,
    };
  }

  take(message: JsonObject): Promise<void> {
    const listener = this.#listener;
    if (!listener) {
      this.#waiting.push(message);
      return Promise.resolve();
    }
    const taken = this.#last.then(() => listener(message));
    this.#last = taken.catch(() => undefined);
    return this.#last;
  }

  #listen(listener: (message: JsonObject) => void | Promise<void>): void {
    this.#listener = listener;
    for (const message of this.#waiting.splice(0)) void this.take(message);
  }
}
