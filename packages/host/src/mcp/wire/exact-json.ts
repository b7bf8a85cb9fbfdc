/** A number that JavaScript would spell, or count, differently. */
interface SpelledNumber {
  readonly rawJSON: string;
}

declare global {
  interface JSON {
    rawJSON(text: string): SpelledNumber;
    isRawJSON(value: unknown): value is SpelledNumber;
  }
}

/** What no plain number may look like; most texts hold nothing of the kind and are parsed the fast way. */
const DELICATE = /(?:^|[[:,\s])-?(?:\d+[.eE]|\d{16}|0\b(?<=-0))/;

/** Nobody means more than this, and everything that walks through a value by recursion gets to its end. */
const DEEPEST = 512;

/** Parses JSON so that writing it again spells every number as it was. Throws when it is none, or nested too deep. */
export function parseExact(text: string): unknown {
  const value: unknown = DELICATE.test(text) ? JSON.parse(text, keepSpelling) : JSON.parse(text);
  if (text.length > 2 * DEEPEST && isDeeperThan(value, DEEPEST)) {
    throw new RangeError(`nested deeper than ${DEEPEST}`);
  }
  return value;
}

/** Goes level by level, because recursion is what a value without end would break. */
function isDeeperThan(value: unknown, bound: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= bound; depth += 1) {
    level = level.flatMap((one) => (isContainer(one) ? Object.values(one).filter(isContainer) : []));
    if (level.length === 0) return false;
  }
  return true;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function keepSpelling(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value;
  return String(value) === context.source ? value : JSON.rawJSON(context.source);
}

/**
 * The value as plain data. Throws a RangeError where a number does not fit into JavaScript's, because what cannot be
 * looked at exactly cannot be decided about.
 */
export function toPlain(value: unknown): unknown {
  return plain(value, exactly);
}

/** The value as plain data, its numbers as near as JavaScript comes. For what is only shown or compared. */
export function toNearlyPlain(value: unknown): unknown {
  return plain(value, Number);
}

/** Gives the value itself where it is plain already. */
function plain(value: unknown, read: (source: string) => number): unknown {
  if (!isContainer(value)) return value;
  if (JSON.isRawJSON(value)) return read(value.rawJSON);
  if (Array.isArray(value)) {
    const items = value.map((item) => plain(item, read));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const members = Object.entries(value).map(([name, member]) => [name, member, plain(member, read)] as const);
  if (members.every(([, before, after]) => before === after)) return value;
  return Object.fromEntries(members.map(([name, , after]) => [name, after]));
}

function exactly(source: string): number {
  const value = Number(source);
  const isWhole = /^-?\d+$/.test(source);
  if (!Number.isFinite(value) || (isWhole && BigInt(source) !== BigInt(value))) {
    throw new RangeError(`the number ${source.slice(0, 64)} cannot be read exactly; pass it as a string`);
  }
  return value;
}
