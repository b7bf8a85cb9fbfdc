import type { HaakEvent, NumberedEvent } from "./event.ts";

/**
 * Numbers the events of a session. A server that starts begins above all numbers it ever gave: an event stands for a
 * message of the log or an entry of the ledger, and neither for more than four.
 */
export class Sequence {
  #last: number;

  constructor(from: { readonly messages: number; readonly entries: number }) {
    this.#last = 4 * (from.messages + from.entries);
  }

  /** Begins above whatever another one has given. */
  follow(other: Sequence): void {
    this.#last = Math.max(this.#last, other.#last);
  }

  /** Gives an event its number. */
  number(event: HaakEvent): NumberedEvent {
    this.#last += 1;
    return { ...event, seq: this.#last };
  }
}
