import { type JsonValue, PlainError, parseJson } from "./parse.ts";

/** Far beyond what a valid line nests, and far below what the stack holds. */
const DEPTH_LIMIT = 256;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** How many members of objects a JSON text writes: every colon outside of strings is one. */
function membersWritten(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === COLON) count += 1;
    else if (unit === QUOTE) index = endOfString(text, index);
  }
  return count;
}

/** How many members of objects a value holds. */
function membersHeld(value: JsonValue, depth = 0): number {
  if (typeof value !== "object" || value === null) return 0;
  if (depth > DEPTH_LIMIT) throw new PlainError(`more than ${DEPTH_LIMIT} nested arrays and objects`);
  let count = 0;
  if (Array.isArray(value)) {
    for (const element of value) count += membersHeld(element, depth + 1);
    return count;
  }
  for (const name in value) count += 1 + membersHeld(value[name] ?? null, depth + 1);
  return count;
}

/** The first name that an object of a valid JSON text has twice. */
function repeatedMember(text: string): string | undefined {
  const open: Set<string>[] = [];
  let last = "";
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') {
      const end = endOfString(text, index);
      last = text.slice(index, end + 1);
      index = end;
    } else if (character === ":") {
      const name: string = JSON.parse(last);
      const names = open.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    } else if (character === "{") open.push(new Set());
    else if (character === "}") open.pop();
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === QUOTE) return index;
    if (unit === BACKSLASH) index += 1;
  }
  return text.length;
}

/**
 * Reads JSON. `JSON.parse` keeps the last of two members with the same name and says nothing; here that is an error,
 * because another reader may keep the first.
 *
 * @throws SyntaxError or PlainError.
 */
export function parseStrict(text: string): JsonValue {
  const value = parseJson(text);
  const name = repetition(text, value);
  if (name === undefined) return value;
  throw new PlainError(`the member ${JSON.stringify(name)} is there twice`);
}

/**
 * The name of a member that is twice in the text from which a value was parsed.
 *
 * @throws PlainError when the value is nested so deep that a reader would overflow its stack.
 */
export function repetition(text: string, value: JsonValue): string | undefined {
  return membersWritten(text) === membersHeld(value) ? undefined : repeatedMember(text);
}
