import { CONTEXT, type Format, MARK, type Rest } from "./format.ts";
import { suits, type TriggerEnd, Triggers } from "./triggers.ts";

/** A place at which a format may still find a secret. */
interface Candidate {
  readonly format: Format;
  start: number;
  at: number;
  from: number | undefined;
  hide: number | undefined;
}

/**
 * Redacts a text that arrives in pieces, also across their borders. It holds back what may still become a secret, which
 * is little, and nothing at all of most texts.
 */
export class RedactingStream {
  readonly #triggers: Triggers;
  readonly #onHidden: ((secret: string, goesOn: boolean) => void) | undefined;
  readonly #spans = new Spans();
  /** What has been shown and may still be looked back at, then what is held. */
  #text = "";
  #shown = 0;
  #scanned = 0;
  #row = Triggers.START;
  #candidates: Candidate[] = [];
  /** Where the mark shown last ends, if nothing has been shown since. */
  #marked = -1;
  /** Where secrets end that are known to the letter: what follows one begins a word. */
  readonly #ends = new Set<number>();
  #effort = 0;

  /** Made by a `Redactor`; `onHidden` gets what is hidden, and whether it continues what was hidden last. */
  constructor(triggers: Triggers, onHidden?: (secret: string, goesOn: boolean) => void) {
    this.#triggers = triggers;
    this.#onHidden = onHidden;
  }

  /** How many characters are held back. */
  get held(): number {
    return this.#text.length - this.#shown;
  }

  /** How many characters were looked at so far, each as often as it was. */
  get effort(): number {
    return this.#effort + this.#spans.effort;
  }

  /** Takes the next piece, and gives what may be shown by now. */
  push(piece: string): string {
    if (piece === "") return "";
    if (this.#isQuiet && this.#passes(piece)) return piece.toWellFormed();
    this.#forget();
    this.#text += piece;
    this.#look(false);
    return this.#show(this.#decided());
  }

  /** Gives what is held, since nothing has come for a while. What has begun like a secret is hidden; the text may go on. */
  flush(): string {
    if (this.held === 0) return "";
    for (const { hide } of this.#candidates)
      if (hide !== undefined && hide < this.#text.length)
        this.#spans.add(hide, this.#text.length, undefined, this.#text, false);
    this.#spans.hideUnknown(this.#text);
    return this.#show(this.#text.length - halfCharacter(this.#text));
  }

  /** Gives what is held, since the text is over. What comes next is another text. */
  end(): string {
    this.#look(true);
    const shown = this.#show(this.#text.length);
    this.#text = "";
    this.#shown = 0;
    this.#scanned = 0;
    this.#row = Triggers.START;
    this.#marked = -1;
    this.#ends.clear();
    return shown;
  }

  get #isQuiet(): boolean {
    return (
      this.#candidates.length === 0 &&
      this.#spans.isEmpty &&
      this.#ends.size === 0 &&
      this.#shown === this.#text.length
    );
  }

  /** Whether a piece holds nothing of interest. Only then is it taken. */
  #passes(piece: string): boolean {
    const row = this.#triggers.pass(piece, this.#row);
    if (row === undefined || this.#triggers.heldAt(row) > 0 || halfCharacter(piece) > 0) return false;
    this.#effort += piece.length;
    this.#row = row;
    this.#text = piece.length >= CONTEXT ? piece : (this.#text + piece).slice(-CONTEXT);
    this.#shown = this.#text.length;
    this.#scanned = this.#shown;
    this.#marked = -1;
    return true;
  }

  /** Looks at what is new: what was open, what begins, what goes on. */
  #look(final: boolean): void {
    // First, so that what begins inside a secret that goes on is known to belong to it.
    this.#spans.extend(this.#text, final);
    if (this.#candidates.length > 0)
      this.#candidates = this.#candidates.filter((candidate) => this.#staysOpen(candidate, final));
    const { length } = this.#text;
    this.#effort += length - this.#scanned;
    this.#row = this.#triggers.scan(this.#text, this.#scanned, this.#row, (trigger, at) =>
      this.#begin(trigger, at, final),
    );
    this.#scanned = length;
    for (const end of this.#ends) if (end <= length - this.#triggers.longest) this.#ends.delete(end);
    this.#spans.extend(this.#text, final);
  }

  #begin({ format, length }: TriggerEnd, at: number, final: boolean): void {
    const start = at - length;
    if (!suits(format, this.#text, start) && !(format.notAfter && this.#ends.has(start))) return;
    const candidate = { format, start, at, from: undefined, hide: undefined };
    if (this.#staysOpen(candidate, final)) this.#candidates.push(candidate);
  }

  /** Has a format look; whether it has to look again. */
  #staysOpen(candidate: Candidate, final: boolean): boolean {
    const { format, start, at } = candidate;
    this.#effort += Math.min(format.reach, this.#text.length - at) + 1;
    const reading = format.read(this.#text, start, at, final);
    if (reading.is === "open") {
      candidate.from = reading.from;
      candidate.hide = reading.hide;
      return !final;
    }
    if (reading.is === "no") return false;
    this.#spans.add(reading.from, reading.to, reading.rest, this.#text, final);
    if (format.hidesTrigger) this.#ends.add(reading.to);
    return false;
  }

  /** Up to where it is known what is secret and what is not. */
  #decided(): number {
    const { length } = this.#text;
    let decided = length - Math.max(this.#triggers.heldAt(this.#row), halfCharacter(this.#text));
    for (const { from } of this.#candidates) decided = Math.min(decided, from ?? length);
    return Math.max(this.#shown, this.#spans.known(decided));
  }

  #show(limit: number): string {
    let shown = "";
    for (const { from, to } of this.#spans.between(this.#shown, limit)) {
      shown += this.#text.slice(this.#shown, from);
      if (from !== this.#marked) shown += MARK;
      this.#onHidden?.(this.#text.slice(from, to), from === this.#marked);
      this.#shown = to;
      this.#marked = to;
    }
    shown += this.#text.slice(this.#shown, limit);
    this.#shown = limit;
    this.#forget();
    return shown.toWellFormed();
  }

  /** Drops text that no format looks back at. */
  #forget(): void {
    let base = this.#shown;
    for (const { start } of this.#candidates) base = Math.min(base, start);
    base = Math.max(0, this.#spans.known(base) - CONTEXT);
    this.#spans.forget(this.#shown, base);
    if (base === 0) return;
    this.#text = this.#text.slice(base);
    this.#shown -= base;
    this.#scanned -= base;
    this.#marked -= base;
    const ends = [...this.#ends];
    this.#ends.clear();
    for (const end of ends) this.#ends.add(end - base);
    for (const candidate of this.#candidates) {
      candidate.start -= base;
      candidate.at -= base;
      if (candidate.from !== undefined) candidate.from -= base;
      if (candidate.hide !== undefined) candidate.hide -= base;
    }
  }
}

/** 1 if a text ends in the middle of a character. */
function halfCharacter(text: string): 0 | 1 {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last < 0xdc00 ? 1 : 0;
}

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
class Spans {
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
