import type { Complaint, Fault, Place } from "./fault.ts";

/** How many faults a report lists unless told otherwise. */
const FAULT_LIMIT = 1_000;

/** Longer values are cut when they are shown. */
const SHOWN = 200;

/** Everything found so far: so many faults in full, the others by number. */
export class Findings {
  readonly #limit: number;
  readonly #faults: Fault[] = [];
  readonly #remarks = new Set<string>();
  #unlisted = 0;

  constructor(limit = FAULT_LIMIT) {
    this.#limit = limit;
  }

  /** Notes a fault. */
  fault(place: Place, complaint: Complaint): void {
    if (this.#faults.length >= this.#limit) {
      this.#unlisted += 1;
      return;
    }
    const { expected, found, ...said } = complaint;
    this.#faults.push({
      ...said,
      ...place,
      ...(expected !== undefined && { expected: shorten(expected) }),
      ...(found !== undefined && { found: shorten(found) }),
    });
  }

  /** Notes what the verdict does not cover. The same remark twice is one. */
  remark(text: string): void {
    this.#remarks.add(text);
  }

  /** Whether nothing is wrong. */
  get clean(): boolean {
    return this.#faults.length + this.#unlisted === 0;
  }

  get unlisted(): number {
    return this.#unlisted;
  }

  get remarks(): string[] {
    return [...this.#remarks];
  }

  /** The faults in the order of the export's lines; signatures are checked later than what surrounds them. */
  get faults(): Fault[] {
    return this.#faults.toSorted((left, right) => (left.line ?? Infinity) - (right.line ?? Infinity) || 0);
  }
}

function shorten(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN).toWellFormed()}… (${text.length} characters)`;
}
