/** Which part of a stored text is wanted. */
export interface ExpandRange {
  /** A text that the lines hold, or `true` for the words of the reason. */
  readonly around_matches?: boolean | string | undefined;
  /** How many lines around each match. */
  readonly context_lines?: number | undefined;
  readonly from_line?: number | undefined;
  readonly to_line?: number | undefined;
}

/** A part of a stored text. */
export interface Expanded {
  readonly text: string;
  /** The first and the last line that it shows, and how many there are. */
  readonly lines: { readonly from: number; readonly to: number; readonly total: number };
  /** Whether the text has more than what is shown. */
  readonly truncated: boolean;
}

const CONTEXT_LINES = 3;
const MOST_CHARACTERS = 24_000;
/** Shorter words of a reason say nothing about what is looked for. */
const SHORTEST_WORD = 4;
/** The most words of a reason that are looked for. */
const MOST_WORDS = 50;
const COMMON = new Set(
  "about detail details each evidence exact finding from have need needs output result show that the this with".split(
    " ",
  ),
);

/** The part of a text that a range asks for; the runtime decides how much of it is shown. */
export function expandText(
  text: string,
  {
    range = {},
    reason = "",
    most = MOST_CHARACTERS,
  }: {
    readonly range?: ExpandRange | undefined;
    /** Why the model wants it; its words are what `around_matches: true` looks for. */
    readonly reason?: string | undefined;
    /** The most characters. */
    readonly most?: number | undefined;
  } = {},
): Expanded {
  const lines = text.split("\n");
  const total = lines.length;
  const first = Math.min(range.from_line ?? 1, total);
  const last = Math.max(first, Math.min(range.to_line ?? total, total));
  const wanted = matching(lines, range, reason)?.filter((line) => line >= first && line <= last);
  const numbers = wanted && wanted.length > 0 ? wanted : span(first, last);
  const shown =
    wanted?.length === 0 ? [`… (no line has a match; this is what is there from line ${first} on)`] : [];
  const marks = shown.length;
  const marked = shown.reduce((sum, { length }) => sum + length + 1, 0);
  let [room, before, end] = [Math.max(1, most - marked), (numbers[0] ?? first) - 1, first];
  for (const number of numbers) {
    const line = lines[number - 1] ?? "";
    const gap = number === before + 1 ? [] : [`… (lines ${before + 1} to ${number - 1} left out)`];
    const length = [...gap, line].join("\n").length + 1;
    if (length > room && shown.length > marks) break;
    shown.push(...gap, length > room ? line.slice(0, room).toWellFormed() : line);
    [room, before, end] = [room - length, number, number];
    if (room <= 0) break;
  }
  const from = numbers[0] ?? first;
  const isWhole = from === 1 && end === total && room >= 0 && numbers.length === total;
  return { text: shown.join("\n"), lines: { from, to: end, total }, truncated: !isWhole };
}

/** The numbers of the lines around what is looked for; `undefined` where nothing is. */
function matching(lines: readonly string[], range: ExpandRange, reason: string): number[] | undefined {
  const { around_matches, context_lines = CONTEXT_LINES } = range;
  if (around_matches === undefined || around_matches === false || around_matches === "") return undefined;
  const words = around_matches === true ? wordsOf(reason) : [around_matches.toLowerCase()];
  const near: number[] = [];
  // Each line is taken once, however many matches it is near to.
  let next = 1;
  for (const [index, line] of lines.entries()) {
    const lower = line.toLowerCase();
    if (!words.some((word) => lower.includes(word))) continue;
    const last = Math.min(lines.length, index + 1 + context_lines);
    for (next = Math.max(next, index + 1 - context_lines); next <= last; next += 1) near.push(next);
  }
  return near;
}

function wordsOf(reason: string): string[] {
  const words = reason.toLowerCase().split(/[^\p{L}\p{N}_./-]+/u);
  const telling = words
    .map((word) => word.replace(/^[./-]+|[./-]+$/g, ""))
    .filter((word) => word.length >= SHORTEST_WORD && !COMMON.has(word));
  return [...new Set(telling)].slice(0, MOST_WORDS);
}

function span(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
