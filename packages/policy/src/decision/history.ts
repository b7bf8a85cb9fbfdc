import type { Counters, DecisionInput } from "../action.ts";
import type { Clause } from "../conditions/conditions.ts";
import type { Whose } from "../constitution/condition.ts";
import type { Subject } from "../subject.ts";

/** Earlier actions that a rule asks about: of a kind, by a subject, within a time. */
export interface Sequence {
  readonly key: string;
  readonly by: Whose;
  /** Milliseconds; without it, since the beginning. */
  readonly within: number | undefined;
  readonly clauses: readonly Clause[];
}

/** The times at which something of a kind was done, oldest first. */
type Times = number[];

/** How many times are kept of one kind by one doer; counts beyond it stay at it. */
const MAX_KEPT = 10_000;

/**
 * What subjects did, as far as a constitution's sequences ask. An action counts from the moment it is allowed, so
 * calls in flight are counted; one that was blocked never is.
 */
export class History {
  readonly #sequences: readonly Sequence[];
  readonly #times = new Map<string, Times>();

  constructor(sequences: readonly Sequence[]) {
    this.#sequences = sequences;
  }

  /** Counts an action that was allowed. */
  note(input: DecisionInput): void {
    for (const place of this.#placesOf(input)) {
      const times = this.#times.get(place) ?? [];
      // A clock that was set back must not put them out of order.
      times.splice(times.findLastIndex((time) => time <= input.at) + 1, 0, input.at);
      if (times.length > MAX_KEPT) times.shift();
      this.#times.set(place, times);
    }
  }

  /** Uncounts an action that was not allowed after all. */
  takeBack(input: DecisionInput): void {
    for (const place of this.#placesOf(input)) {
      const times = this.#times.get(place) ?? [];
      const index = times.lastIndexOf(input.at);
      if (index >= 0) times.splice(index, 1);
    }
  }

  /** How often each sequence has come to pass for a subject, at a time. */
  counters(subject: Subject, at: number): Counters {
    if (this.#sequences.length === 0) return NONE;
    const counters: Record<string, number> = {};
    for (const { key, by, within } of this.#sequences) {
      const times = this.#times.get(`${key}\n${doer(subject, by)}`);
      if (times) counters[key] = within === undefined ? times.length : countSince(times, at - within);
    }
    return counters;
  }

  /** Under which names an action counts. */
  #placesOf(input: DecisionInput): string[] {
    const counting = this.#sequences.filter(({ clauses }) => clauses.every(({ holds }) => holds(input)));
    return counting.map(({ key, by }) => `${key}\n${doer(input.subject, by)}`);
  }
}

const NONE: Counters = Object.freeze({});

function doer(subject: Subject, by: Whose): string {
  // Names are the tenant's own: two tenants may both have a user "ann".
  return `${subject.tenant}\n${by === "tenant" ? "" : subject[by]}`;
}

/** How many of the times, which are in order, are not before one. */
function countSince(times: Times, since: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) < since) low = middle + 1;
    else high = middle;
  }
  return times.length - low;
}
