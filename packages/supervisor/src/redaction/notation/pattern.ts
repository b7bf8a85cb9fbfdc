import { SupervisorError } from "../../supervisor-error.ts";
import { type CharacterSet, characters } from "./character-set.ts";

/** So many characters of a set, as many as there are and never fewer on second thought. */
export interface Step {
  readonly set: CharacterSet;
  readonly min: number;
  readonly max: number;
}

/** A pattern, taken apart. */
export interface Pattern {
  /** What it begins with: for each place the UTF-16 codes that may stand there. */
  readonly beginning: readonly (readonly number[])[];
  /** What follows, the last of it as long as it goes on. */
  readonly steps: readonly Step[];
  /** The step at which the secret begins. */
  readonly secret: number;
}

/** What a run in the middle of a pattern has at most if it does not say. */
const USUAL_RUN = 512;
/** What it may have at most. */
const LONGEST_RUN = 8_192;

/**
 * Reads a pattern: a small part of regular expressions, which can be matched in one pass and piece by piece. It has
 * characters, `\` before special ones, sets in brackets, and `{n}`, `{n,}`, `{n,m}`, `?` and `+` behind them. It begins
 * with at least two fixed characters or sets, which are shown, and one pair of parentheses may say where the secret is.
 */
export function readPattern(source: string): Pattern {
  const wrong = (why: string) =>
    new SupervisorError("invalid", `the pattern "${source}" cannot be used: ${why}`);
  const steps: Step[] = [];
  let secret: number | undefined;
  let index = 0;
  while (index < source.length) {
    const one = source[index] ?? "";
    index += 1;
    if (one === "(") {
      if (secret !== undefined) throw wrong("there is more than one pair of parentheses");
      secret = steps.length;
      continue;
    }
    if (one === ")") {
      if (secret === undefined || index < source.length)
        throw wrong("parentheses end where the pattern ends");
      continue;
    }
    if ("|^$.*{}]?+".includes(one))
      throw wrong(`"${one}" is not known here; write "\\${one}" for the character`);
    let set: CharacterSet;
    if (one === "[") {
      const end = endOfSet(source, index);
      if (end < 0) throw wrong("a bracket is not closed");
      set = characters(source.slice(index, end));
      index = end + 1;
    } else {
      const literal = one === "\\" ? source.slice(index - 1, index + 1) : one;
      if (one === "\\") index += 1;
      if (literal === "\\" || literal.charCodeAt(0) > 127)
        throw wrong("it has a character that is not of ASCII");
      set = literal === "-" || literal === "^" ? characters(`\\${literal}`) : characters(literal);
    }
    const count = /^(?:\{(\d+)(?:(,)(\d*))?\}|[?+])/.exec(source.slice(index));
    index += count?.[0].length ?? 0;
    const [min, max] = countsOf(count);
    if (!(min <= max && max > 0 && min <= LONGEST_RUN && (max <= LONGEST_RUN || max === Infinity)))
      throw wrong(`"${count?.[0]}" is not a count`);
    steps.push({ set, min, max });
  }
  const fixed = steps.findIndex(({ min, max }) => min !== 1 || max !== 1);
  const beginning = steps.slice(0, fixed < 0 ? steps.length : Math.min(fixed, secret ?? fixed));
  const rest = steps.slice(beginning.length);
  if (beginning.length < 2) throw wrong("it has to begin with at least two fixed characters");
  if ((rest.at(-1)?.min ?? 0) === 0)
    throw wrong("it has to end with the characters of the secret, at least one");
  return {
    beginning: beginning.map(({ set }) => set.codes),
    steps: rest.map((step) => ({
      ...step,
      max: step.max === Infinity ? Math.max(step.min, USUAL_RUN) : step.max,
    })),
    secret: secret === undefined ? 0 : secret - beginning.length,
  };
}

function endOfSet(source: string, from: number): number {
  for (let index = from; index < source.length; index += 1) {
    if (source[index] === "\\") index += 1;
    else if (source[index] === "]") return index;
  }
  return -1;
}

function countsOf(count: RegExpExecArray | null): [min: number, max: number] {
  if (!count) return [1, 1];
  if (count[0] === "?") return [0, 1];
  if (count[0] === "+") return [1, Infinity];
  const min = Number(count[1]);
  if (count[2] === undefined) return [min, min];
  return [min, count[3] ? Number(count[3]) : Infinity];
}
