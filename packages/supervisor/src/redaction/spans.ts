import type { CharacterSet } from "./notation.ts";

/** How far the rest of secrets goes on, from wherever between `from` and `to` one looks. */
interface Run {
  readonly rest: Rest;
  from: number;
  to: number;
  /** Whether it ends at `to`, or may go on beyond it. */
  over: boolean;
}

interface Span {
  from: number;
  to: number;
  run: Run | undefined;
}

/** The parts of a text that are secret, as far as they are known. They may overlap. */
export class Spans {
  /** The run walked last, by its rest: what was walked once is not walked again. */
  readonly #walked = new Map<Rest, Run>();
  #open: Run[] = [];
  #spans: Span[] = [];
  #effort = 0;

  /** How many characters were looked at. */
  get effort(): number {
    return this.#effort;
  }

  /** Whether there is none that matters still. */
  get isEmpty(): boolean {
    return this.#spans.length === 0;
  }

  /** Adds a part, and follows it as far as it goes on. */
  add(from: number, to: number, rest: Rest | undefined, text: string, final: boolean): void {
    const run = rest && this.#follow(rest, to, text, final);
    const before = this.#spans.findLastIndex((span) => span.from <= from);
    const holder = this.#spans[before];
    if (holder && (run ? holder.run === run : to <= endOf(holder))) return;
    this.#spans.splice(before + 1, 0, { from, to, run });
  }

  /** Follows what may go on into new text. */
  extend(text: string, final: boolean): void {
    if (this.#open.length === 0) return;
    for (const run of this.#open) this.#walk(run, text, final);
    this.#open = this.#open.filter(({ over }) => !over);
    if (this.#open.length > 1) this.#join();
  }

  /** Runs that have come to the same place go on as one, or each piece of a text would be walked by all of them. */
  #join(): void {
    const first = new Map<Rest, Run>();
    const joined = new Map<Run, Run>();
    for (const run of this.#open) {
      const other = first.get(run.rest);
      if (other?.to === run.to) joined.set(run, other);
      else first.set(run.rest, run);
    }
    if (joined.size === 0) return;
    this.#open = this.#open.filter((run) => !joined.has(run));
    for (const span of this.#spans) span.run = span.run && (joined.get(span.run) ?? span.run);
    for (const [rest, run] of this.#walked) this.#walked.set(rest, joined.get(run) ?? run);
  }

  /** Adds what may still belong to a rest that is better not shown in parts. */
  hideUnknown(text: string): void {
    for (const { rest, to } of this.#open)
      if (rest.hidesUnknown && to < text.length) this.add(to, text.length, undefined, text, false);
  }

  /** Up to where it is known what is secret. */
  known(limit: number): number {
    let known = limit;
    for (const { to } of this.#open) known = Math.min(known, to);
    return known;
  }

  /** The parts between two indexes, in order and apart from each other. */
  *between(from: number, to: number): Generator<{ from: number; to: number }> {
    let done = from;
    for (const span of this.#spans) {
      const begin = Math.max(span.from, done);
      if (begin >= to) return;
      const end = Math.min(endOf(span), to);
      if (end <= begin) continue;
      yield { from: begin, to: end };
      done = end;
    }
  }

  /** Forgets what lies before an index, and counts the indexes of the others from `base` on. */
  forget(before: number, base: number): void {
    if (this.#spans.length + this.#walked.size + this.#open.length === 0) return;
    this.#walked.clear();
    for (const run of this.#open) {
      this.#walked.set(run.rest, run);
      run.from -= base;
      run.to -= base;
    }
    const kept: Span[] = [];
    for (const { from, to, run } of this.#spans) {
      if (run && !run.over) kept.push({ from: from - base, to: to - base, run });
      else if (Math.max(to, run?.to ?? 0) > before)
        kept.push({ from: from - base, to: Math.max(to, run?.to ?? 0) - base, run: undefined });
    }
    this.#spans = kept;
  }

  #follow(rest: Rest, from: number, text: string, final: boolean): Run {
    const walked = this.#walked.get(rest);
    if (walked && walked.from <= from && from <= walked.to) return walked;
    const run = { rest, from, to: from, over: false };
    this.#walk(run, text, final, walked?.from);
    if (walked && run.to === walked.from && !run.over) {
      walked.from = from;
      return walked;
    }
    this.#walked.set(rest, run);
    if (!run.over) this.#open.push(run);
    return run;
  }

  #walk(run: Run, text: string, final: boolean, until?: number): void {
    while (run.to < text.length && run.to !== until) {
      this.#effort += 1;
      const goesOn = run.rest.goesOn(text, run.to, final);
      if (goesOn === undefined) return;
      if (!goesOn) {
        run.over = true;
        return;
      }
      run.to += 1;
    }
    if (final && run.to === text.length) run.over = true;
  }
}

function endOf({ to, run }: Span): number {
  return Math.max(to, run?.to ?? 0);
}

/** What stands where a secret was. */
export const MARK = "[redacted]";

/** What to see of the text before a trigger, and after it: a format may look no further. */
export const CONTEXT = 32;

/** What a format makes of the text after one of its triggers. */
export type Reading =
  /** Not a secret, whatever follows. */
  | { readonly is: "no" }
  /** It depends on what follows. The secret, if it is one, begins at `from`; at a pause it is better hidden from `hide` on. */
  | { readonly is: "open"; readonly from?: number | undefined; readonly hide?: number | undefined }
  /** A secret. Beyond `to` it goes on as its rest does. */
  | { readonly is: "secret"; readonly from: number; readonly to: number; readonly rest?: Rest | undefined };

/** Not a secret. */
export const NO: Reading = { is: "no" };

/** Not yet known, and nothing secret so far. */
export const OPEN: Reading = { is: "open" };

/** How a secret goes on when it is already known to be one: a question to each character, whatever came before. */
export interface Rest {
  /** Whether at a pause it hides what may belong to it. */
  readonly hidesUnknown?: boolean;
  /** Whether the character at an index belongs to it; `undefined` when that depends on text still to come. */
  goesOn(text: string, index: number, final: boolean): boolean | undefined;
}

/** A word that a format begins with: for each place the UTF-16 codes that may stand there. */
export type Trigger = readonly (readonly number[])[];

/** A form in which secrets are written. */
export interface Format {
  readonly name: string;
  readonly triggers: readonly Trigger[];
  /** Whether a trigger is itself a part of the secret and has to be hidden with it. */
  readonly hidesTrigger?: boolean;
  /** No trigger counts right after one of these. */
  readonly notAfter?: CharacterSet;
  /** A trigger counts only right after one of these. */
  readonly onlyAfter?: CharacterSet;
  /** How many characters after the trigger it looks at, at most, to know whether there is a secret. */
  readonly reach: number;
  /** Reads the text around a trigger, which begins at `start` and ends before `at`. `final` says that no text follows. */
  read(text: string, start: number, at: number, final: boolean): Reading;
}

/** The trigger that a word makes; optionally in any case. */
export function triggerOf(word: string, anyCase = false): Trigger {
  return Array.from({ length: word.length }, (_, index) => {
    const one = word.charAt(index);
    const spellings = anyCase ? new Set([one.toLowerCase(), one.toUpperCase()]) : [one];
    return Array.from(spellings, (spelling) => spelling.charCodeAt(0));
  });
}
