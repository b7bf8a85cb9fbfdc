import type { ConversationEvent, Session } from "@reins/sdk";

/** How many of the last events are kept, to find the place from which to go on after a lost connection. */
const KEPT = 20;
const RETRY_MS = 1_000;

interface FeedOptions {
  readonly session: Pick<Session, "events" | "history">;
  readonly signal: AbortSignal;
  /** Receives what happened before, once. */
  readonly past: (events: readonly ConversationEvent[]) => void;
  /** The next event waits for the promise. */
  readonly take: (event: ConversationEvent) => void | Promise<void>;
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Follows a session from its beginning: what happened before, then each event as it comes, none twice. When the
 * subscription ends with an error, subscribes again and continues after the last event. Resolves with the signal, and
 * rejects if the session cannot be followed from the start.
 */
export async function followSession(options: FeedOptions): Promise<void> {
  const { signal, wait } = options;
  const follower = new Follower(options);
  while (!signal.aborted) {
    try {
      await follower.follow();
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (!follower.hasBegun) throw error;
    }
    await wait(RETRY_MS, signal);
  }
}

class Follower {
  readonly #options: FeedOptions;
  /** The last events that were passed on; undefined before the first. */
  #seen: string[] | undefined;
  /** What arrived while the history was read. */
  #waiting: ConversationEvent[] | undefined;
  /** What the history had already and is still to arrive. */
  #expected: readonly string[] = [];

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  get hasBegun(): boolean {
    return this.#seen !== undefined;
  }

  /** Subscribes before the history is read, so that nothing falls between the two. */
  async follow(): Promise<void> {
    const { session, signal } = this.#options;
    const stop = new AbortController();
    this.#waiting = [];
    const reading = this.#read(session.events({ signal: AbortSignal.any([signal, stop.signal]) }));
    // Rejects where it is awaited.
    reading.catch(() => undefined);
    try {
      const history: ConversationEvent[] = [];
      for await (const event of session.history({ signal })) history.push(event);
      if (!signal.aborted) await this.#passHistory(history);
      await reading;
    } finally {
      stop.abort();
    }
  }

  async #read(events: AsyncIterable<ConversationEvent>): Promise<void> {
    for await (const event of events) {
      if (this.#waiting) this.#waiting.push(event);
      else await this.#take(event);
    }
  }

  async #passHistory(history: readonly ConversationEvent[]): Promise<void> {
    const { past, take } = this.#options;
    const keys = history.map(keyOf);
    if (this.#seen === undefined) past(history);
    else for (const event of history.slice(continuesAt(keys, this.#seen))) await take(event);
    this.#seen = keys.slice(-KEPT);
    const waiting = this.#waiting ?? [];
    this.#expected = keys.slice(beginOf(keys, waiting.filter(isStored).map(keyOf)));
    // More may arrive while these are passed on.
    for (let event = waiting.shift(); event; event = waiting.shift()) await this.#take(event);
    this.#waiting = undefined;
  }

  async #take(event: ConversationEvent): Promise<void> {
    if (isStored(event)) {
      const key = keyOf(event);
      const [next, ...rest] = this.#expected;
      this.#expected = next === key ? rest : [];
      if (next === key) return;
      this.#seen = [...(this.#seen ?? []), key].slice(-KEPT);
    }
    await this.#options.take(event);
  }
}

function keyOf(event: ConversationEvent): string {
  return "update" in event ? JSON.stringify(event.update) : event.type;
}

/** Whether the history has it. */
function isStored(event: ConversationEvent): boolean {
  return "update" in event;
}

/** Where a list goes on after what was seen of it; its end if the two have nothing in common. */
export function continuesAt(list: readonly string[], seen: readonly string[]): number {
  if (seen.length === 0) return 0;
  for (let at = list.length; at > 0; at -= 1) {
    const most = Math.min(seen.length, at);
    let same = 0;
    while (same < most && list[at - 1 - same] === seen[seen.length - 1 - same]) same += 1;
    if (same === most) return at;
  }
  return list.length;
}

/** The last place in a list at which another list begins, as far as both reach; its end if there is none. */
export function beginOf(list: readonly string[], other: readonly string[]): number {
  if (other.length === 0) return list.length;
  for (let at = list.length - 1; at >= 0; at -= 1) {
    const both = Math.min(other.length, list.length - at);
    let same = 0;
    while (same < both && list[at + same] === other[same]) same += 1;
    if (same === both && at + both >= Math.min(list.length, at + other.length)) return at;
  }
  return list.length;
}
