import type { LoggedEvent } from "./logged-event.ts";

/** Who follows a name in the log. */
export interface Follower {
  push(event: LoggedEvent): void;
  fail(error: unknown): void;
}

/** Those who follow the names in a log. */
export class Followers {
  readonly #followers = new Map<string, Set<Follower>>();

  /** Whether anybody follows a name. */
  has(name: string): boolean {
    return this.#followers.has(name);
  }

  /** Hands a message on to all who follow a name. */
  push(name: string, event: LoggedEvent): void {
    const all = this.#followers.get(name);
    if (all) for (const follower of all) follower.push(event);
  }

  join(name: string, follower: Follower): void {
    const all = this.#followers.get(name) ?? new Set();
    all.add(follower);
    this.#followers.set(name, all);
  }

  leave(name: string, follower: Follower): void {
    const all = this.#followers.get(name);
    all?.delete(follower);
    if (all?.size === 0) this.#followers.delete(name);
  }

  /** Tells everybody that nothing more will come. */
  fail(error: unknown): void {
    for (const follower of new Set([...this.#followers.values()].flatMap((all) => [...all])))
      follower.fail(error);
  }
}
