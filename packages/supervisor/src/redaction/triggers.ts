import type { Format } from "./format.ts";

/** No seam is longer. */
const LONGEST_SEAM = 20;

const ESCAPE = String.raw`\\[0bfnrtv]|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|%[0-9a-f]{2}`;
const COLOUR = String.raw`(?:${"\u001b"}|\\u001b|\\x1b|\\033|\\e)\[[0-9;]{0,10}[a-z]`;
const CHANGED_LINE = String.raw`(?:^|\n|\\n)[+-]`;
const SEAM = new RegExp(`(?:${ESCAPE}|${COLOUR}|${CHANGED_LINE})$`, "i");

/**
 * Whether what ends before an index only looks like a part of the word that follows: an escape of a string, an address
 * or a terminal, or the sign that a diff puts before a line.
 */
function isAfterSeam(text: string, index: number): boolean {
  return SEAM.test(text.slice(Math.max(0, index - LONGEST_SEAM), index));
}

/** The end of a trigger, where its format has to read on. */
export interface TriggerEnd {
  readonly format: Format;
  readonly length: number;
}

/** The automaton that finds the triggers of many formats in one pass, with one table lookup for each character. */
export class Triggers {
  /** The row of the table to begin with. */
  static readonly START = 0;
  /** The length of the longest trigger. */
  readonly longest: number;
  /** Rows from this one on are reached at the end of a trigger. */
  readonly ending: number;
  /** The column of each UTF-16 code. */
  readonly columns: Uint16Array;
  /** The next row, by row and column. A row is identified by its start, which is a multiple of `width`. */
  readonly next: Int32Array;
  readonly width: number;
  /** The triggers that end at each row. */
  readonly ended: readonly (readonly TriggerEnd[])[];
  readonly #held: readonly number[];

  constructor(formats: readonly Format[]) {
    const words = wordsOf(formats);
    const { columns, width } = columnsOf(words);
    const states = statesOf(words, columns, width);
    const order = [...states.keys()].sort(
      (left, right) => rank(states[left]) - rank(states[right]) || left - right,
    );
    const rows = new Int32Array(states.length);
    for (const [row, state] of order.entries()) rows[state] = row * width;
    this.next = new Int32Array(states.length * width);
    for (const [row, state] of order.entries()) {
      for (let column = 0; column < width; column += 1)
        this.next[row * width + column] = rows[states[state]?.next[column] ?? 0] ?? 0;
    }
    this.columns = columns;
    this.longest = Math.max(0, ...words.map(({ codes }) => codes.length));
    this.width = width;
    this.ended = order.map((state) => states[state]?.ended ?? []);
    this.#held = order.map((state) => states[state]?.held ?? 0);
    this.ending = this.ended.filter((ended) => ended.length === 0).length * width;
  }

  /** Calls back with every trigger in a text from an index on, and its end; returns the row that the text leads to. */
  scan(text: string, from: number, row: number, found: (trigger: TriggerEnd, end: number) => void): number {
    const { columns, next, ending } = this;
    let reached = row;
    for (let index = from; index < text.length; index += 1) {
      reached = next[reached + (columns[text.charCodeAt(index)] ?? 0)] ?? 0;
      if (reached >= ending) for (const trigger of this.#endedAt(reached)) found(trigger, index + 1);
    }
    return reached;
  }

  /** The row that a text leads to if no trigger in it counts; one at its beginning may. */
  pass(text: string, row: number): number | undefined {
    const { columns, next, ending } = this;
    let reached = row;
    for (let index = 0; index < text.length; index += 1) {
      reached = next[reached + (columns[text.charCodeAt(index)] ?? 0)] ?? 0;
      if (reached < ending) continue;
      for (const { format, length } of this.#endedAt(reached)) {
        const start = index + 1 - length;
        if (start < LONGEST_SEAM || suits(format, text, start)) return undefined;
      }
    }
    return reached;
  }

  #endedAt(row: number): readonly TriggerEnd[] {
    return this.ended[row / this.width] ?? [];
  }

  /** How many of the last characters may be the beginning of a trigger that has to be hidden. */
  heldAt(row: number): number {
    return this.#held[row / this.width] ?? 0;
  }
}

/** Whether a format's triggers count at an index, by what precedes it. */
export function suits({ notAfter, onlyAfter }: Format, text: string, start: number): boolean {
  const code = text.charCodeAt(start - 1);
  if (notAfter?.has(code) && !isAfterSeam(text, start)) return false;
  return onlyAfter === undefined || onlyAfter.has(code);
}

interface Word extends TriggerEnd {
  readonly codes: readonly (readonly number[])[];
}

/** Which words the last characters may be the beginning of. */
interface State {
  readonly places: readonly Place[];
  readonly next: Uint32Array;
  readonly ended: readonly TriggerEnd[];
  readonly held: number;
}

interface Place {
  readonly word: number;
  readonly at: number;
}

function wordsOf(formats: readonly Format[]): readonly Word[] {
  return formats.flatMap((format) =>
    format.triggers.map((codes) => ({ format, codes, length: codes.length })),
  );
}

function columnsOf(words: readonly Word[]): { columns: Uint16Array; width: number } {
  const columns = new Uint16Array(0x1_00_00);
  let width = 1;
  for (const code of words.flatMap(({ codes }) => codes.flat())) {
    if (columns[code] !== 0) continue;
    columns[code] = width;
    width += 1;
  }
  return { columns, width };
}

/** All states that texts can lead to, the first being that of no text. */
function statesOf(words: readonly Word[], columns: Uint16Array, width: number): readonly State[] {
  const starts = new Map<number, Place[]>();
  for (const [word, { codes }] of words.entries()) step(starts, columns, codes[0], { word, at: 1 });
  const states: State[] = [];
  const known = new Map<string, number>();
  const stateOf = (places: readonly Place[]): number => {
    let key = "";
    for (const { word, at } of places) key += String.fromCharCode(word, at);
    const found = known.get(key);
    if (found !== undefined) return found;
    known.set(key, states.length);
    states.push({ places, next: new Uint32Array(width), ...meaningOf(places, words) });
    return states.length - 1;
  };
  stateOf([]);
  for (let state = 0; state < states.length; state += 1) {
    const { places, next } = states[state] ?? { places: [], next: new Uint32Array() };
    const onward = new Map<number, Place[]>();
    for (const { word, at } of places) step(onward, columns, words[word]?.codes[at], { word, at: at + 1 });
    if (state === 0) for (const [column, begun] of starts) next[column] = stateOf(begun);
    else next.set(states[0]?.next ?? []);
    for (const [column, gone] of onward) next[column] = stateOf([...(starts.get(column) ?? []), ...gone]);
  }
  return states;
}

function step(
  onward: Map<number, Place[]>,
  columns: Uint16Array,
  codes: readonly number[] | undefined,
  place: Place,
): void {
  for (const code of codes ?? []) {
    const column = columns[code] ?? 0;
    const reached = onward.get(column);
    if (reached) reached.push(place);
    else onward.set(column, [place]);
  }
}

function meaningOf(places: readonly Place[], words: readonly Word[]): Pick<State, "ended" | "held"> {
  const ended: TriggerEnd[] = [];
  let held = 0;
  for (const { word, at } of places) {
    const found = words[word];
    if (!found) continue;
    if (at === found.length) ended.push(found);
    else if (found.format.hidesTrigger) held = Math.max(held, at);
  }
  return { ended, held };
}

function rank(state: State | undefined): number {
  return state && state.ended.length > 0 ? 1 : 0;
}
