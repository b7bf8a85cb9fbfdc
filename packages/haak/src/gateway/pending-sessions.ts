import type { Principal } from "@reins/supervisor";
import { Sequence } from "./sequence.ts";
import type { SessionWish } from "./session-begin.ts";

/** A session whose agent cannot be had yet. */
interface PendingSession {
  readonly wish: SessionWish;
  readonly sequence: Sequence;
}

/** More of them are not kept in mind; the oldest make room. */
const MOST = 1_000;

/** Sessions whose agent cannot be had; each turn tries again. What nobody has begun yet is each principal's own. */
export class PendingSessions {
  readonly #pending = new Map<string, PendingSession>();

  /** Keeps a session in mind, as it was wished for last. */
  keep(principal: Principal, wish: SessionWish): void {
    const place = placeOf(principal, wish.session_key);
    const { sequence } = this.#pending.get(place) ?? { sequence: new Sequence({ messages: 0, entries: 0 }) };
    this.#pending.set(place, { wish, sequence });
    const [oldest] = this.#pending.size > MOST ? this.#pending.keys() : [];
    if (oldest !== undefined) this.#pending.delete(oldest);
  }

  /** The session of a key, if it waits for its agent. */
  get(principal: Principal, key: string): PendingSession | undefined {
    return this.#pending.get(placeOf(principal, key));
  }

  /** Keeps it in mind no more; whether it was. */
  forget(principal: Principal, key: string): boolean {
    return this.#pending.delete(placeOf(principal, key));
  }
}

function placeOf({ tenant, id }: Principal, key: string): string {
  return `${tenant}\n${key}\n${id}`;
}
