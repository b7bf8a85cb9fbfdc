/** Collects what came back; `wait` resolves at a number of messages. */
export class Inbox {
  readonly #replies: string[] = [];
  #wanted = Number.POSITIVE_INFINITY;
  #arrived: (() => void) | undefined;

  add(reply: string): void {
    this.#replies.push(reply);
    if (this.#replies.length >= this.#wanted) this.#arrived?.();
  }

  /** How many are there. */
  get size(): number {
    return this.#replies.length;
  }

  /** Waits until so many are there. One waits at a time. */
  async holding(count: number): Promise<void> {
    if (this.#replies.length >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wanted = count;
    this.#arrived = resolve;
    await promise;
  }

  /** Takes out all that are there. */
  take(): string[] {
    return this.#replies.splice(0);
  }
}
