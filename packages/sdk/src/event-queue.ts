import { ConnectionError } from "./errors.ts";
import { delay } from "./events.ts";

/** The most events that wait for a reader. */
const CAPACITY = 10_000;
/** How long a full queue holds back everything that its connection receives. */
const STALL_MS = 60_000;

/** Events between a connection and one reader, who may be slower: bounded, in order. */
export class EventQueue<T> implements AsyncIterable<T> {
  readonly #events: T[] = [];
  readonly #capacity: number;
  readonly #stallMs: number;
  #end: { readonly error?: unknown } | undefined;
  #arrived = Promise.withResolvers<void>();
  #room = Promise.withResolvers<void>();

  constructor(capacity = CAPACITY, stallMs = STALL_MS) {
    this.#capacity = capacity;
    this.#stallMs = stallMs;
  }

  /**
   * Adds an event. A promise resolves when there is room for another; a reader that takes nothing for a minute fails
   * then, so that others of the connection go on.
   */
  push(event: T): void | Promise<void> {
    if (this.#end) return;
    this.#events.push(event);
    this.#arrived.resolve();
    if (this.#events.length >= this.#capacity) return this.#wait();
  }

  /** Ends the queue after what is in it, with an error or without. */
  end(error?: unknown): void {
    this.#end ??= error === undefined ? {} : { error };
    this.#arrived.resolve();
    this.#room.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      while (this.#events.length > 0) {
        // One array for many events: `shift` of a long one is slow.
        for (const event of this.#events.splice(0)) yield event;
        this.#room.resolve();
      }
      if (this.#end) {
        if ("error" in this.#end) throw this.#end.error;
        return;
      }
      this.#arrived = Promise.withResolvers();
      await this.#arrived.promise;
    }
  }

  async #wait(): Promise<void> {
    this.#room = Promise.withResolvers();
    const stop = new AbortController();
    const stalled = delay(this.#stallMs, stop.signal).then(() => {
      if (stop.signal.aborted) return;
      this.end(
        new ConnectionError("slow_reader", "The events were not read; session.history() still has them."),
      );
    });
    await Promise.race([this.#room.promise, stalled]);
    stop.abort();
  }
}
