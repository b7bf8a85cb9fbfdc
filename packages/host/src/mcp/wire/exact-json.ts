import { exactNumber } from "@reins/supervisor";

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

/** The value as plain data, but for numbers that do not fit into JavaScript's: those keep their digits. */
export function toPlain(value: unknown): unknown {
  return plain(value, exactNumber);
}

/** The value as plain data, its numbers as near as JavaScript comes. For what is only shown or compared. */
export function toNearlyPlain(value: unknown): unknown {
  return plain(value, Number);
}

/** Gives the value itself where it is plain already. */
function plain(value: unknown, read: (source: string) => unknown): unknown {
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
