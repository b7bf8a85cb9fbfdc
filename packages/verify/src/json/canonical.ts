import { type JsonObject, type JsonValue, PlainError } from "./parse.ts";

/** How many arrays and objects may lie inside each other. */
export const NESTING_LIMIT = 64;

/**
 * The RFC 8785 (JCS) form of a value.
 *
 * @throws PlainError when the value is not plain JSON.
 */
export function canonicalJson(value: JsonValue): string {
  if (!isInOrder(value, 0)) return inOrder(value);
  const text = JSON.stringify(value);
  // JSON.stringify writes as RFC 8785 demands what is in order, except that it accepts halves of surrogate pairs.
  return text.includes("\\ud") ? inOrder(value) : text;
}

/** Whether the members of every object are in the order of JCS already. Refuses what is not plain on the way. */
function isInOrder(value: JsonValue, depth: number): boolean {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new PlainError("a number beyond the range of a double");
  }
  if (typeof value !== "object" || value === null) return true;
  if (depth >= NESTING_LIMIT) throw new PlainError(`more than ${NESTING_LIMIT} nested arrays and objects`);
  let ordered = true;
  if (Array.isArray(value)) {
    for (const element of value) ordered = isInOrder(element, depth + 1) && ordered;
    return ordered;
  }
  let before: string | undefined;
  for (const name in value) {
    if (before !== undefined && before > name) ordered = false;
    before = name;
    ordered = isInOrder(value[name] ?? null, depth + 1) && ordered;
  }
  return ordered;
}

/** Writes the members of every object in the order of their names' UTF-16 code units. */
function inOrder(value: JsonValue): string {
  if (typeof value === "string") return wellFormed(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(inOrder).join(",")}]`;
  return `{${Object.keys(value)
    .sort()
    .map((name) => member(name, value))
    .join(",")}}`;
}

function member(name: string, value: JsonObject): string {
  return `${wellFormed(name)}:${inOrder(value[name] ?? null)}`;
}

function wellFormed(text: string): string {
  if (text.isWellFormed()) return JSON.stringify(text);
  throw new PlainError("a string with half of a surrogate pair");
}
