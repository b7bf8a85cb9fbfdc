import { isObject } from "@reins/ahp";

/** How much longer a wait lasts after an unclaimed response came instead. */
const GRACE_MS = 500;
const MAX_NOISE = 100;

interface Waiter {
  readonly id: string | number | undefined;
  readonly settle: (text: string | undefined) => void;
  readonly hurry: () => void;
}

/** Classifies the messages of a stream: awaited responses, unclaimed responses, and noise. */
export class Inbox {
  readonly noise: string[] = [];
  readonly #waiters = new Set<Waiter>();
  #unclaimed: string[] = [];
  #ended: string | undefined;

  /** How the stream ended, if it did. */
  get ended(): string | undefined {
    return this.#ended;
  }

  /** Takes one message of the stream. */
  deliver(text: string): void {
    const id = responseId(text);
    if (id === undefined) {
      this.addNoise(text);
      return;
    }
    const waiters = [...this.#waiters];
    const waiter =
      waiters.find((candidate) => candidate.id === id.value) ??
      waiters.find((candidate) => candidate.id === undefined);
    if (waiter) {
      waiter.settle(text);
      return;
    }
    this.#unclaimed.push(text);
    for (const late of waiters) late.hurry();
  }

  /** Keeps what is no message, up to a bound. */
  addNoise(text: string): void {
    if (this.noise.length < MAX_NOISE) this.noise.push(text.slice(0, 1000));
  }

  /** Ends the stream and every wait. */
  end(how: string): void {
    this.#ended ??= how;
    for (const waiter of this.#waiters) waiter.settle(undefined);
  }

  /** The message with that id, or nothing once the time is over. */
  next(id: string | number | undefined, waitMs: number): Promise<string | undefined> {
    if (this.#ended !== undefined) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const settle = (text: string | undefined) => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
        resolve(text);
      };
      let timer = setTimeout(settle, waitMs, undefined);
      let hurried = waitMs <= GRACE_MS;
      const hurry = () => {
        if (hurried) return;
        hurried = true;
        clearTimeout(timer);
        timer = setTimeout(settle, GRACE_MS, undefined);
      };
      const waiter: Waiter = { id, settle, hurry };
      this.#waiters.add(waiter);
    });
  }

  /** Takes the unclaimed responses. */
  unclaimed(): readonly string[] {
    const taken = this.#unclaimed;
    this.#unclaimed = [];
    return taken;
  }
}

/** The id of a response; absent for what is not one. A harness never calls, so what names a method is noise. */
function responseId(text: string): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && !("method" in value) ? { value: value.id } : undefined;
  } catch {
    return undefined;
  }
}
