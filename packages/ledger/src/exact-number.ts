/** A number that JavaScript cannot hold, as readers of JSON that keep every digit give it. */
interface SpelledNumber {
  readonly rawJSON: string;
}

declare global {
  interface JSON {
    rawJSON(text: string): SpelledNumber;
    isRawJSON(value: unknown): value is SpelledNumber;
  }
}

/** The one member of an object that stands for such a number. */
const NUMBER = "$number";
const LIKE_NUMBER = /^\$+number$/;
const SPELLING = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * A value as it is recorded, in a form that every reader holds and RFC 8785 has: a number with more digits than a double
 * becomes `{"$number": "9007199254740993"}`. So that nothing else can look like it, an object with one member of such a
 * name gets another `$`. The same value where there is neither.
 */
export function recordedJson(value: unknown): unknown {
  if (!isAffected(value)) return value;
  return mapped(value, (object, names) => {
    if (JSON.isRawJSON(object)) return { [NUMBER]: object.rawJSON };
    const [name] = names;
    return names.length === 1 && name !== undefined && LIKE_NUMBER.test(name)
      ? { [`$${name}`]: recordedJson(Reflect.get(object, name)) }
      : undefined;
  });
}

/** The value that was recorded. */
export function restoredJson(value: unknown): unknown {
  return mapped(value, (object, names) => {
    const [name] = names;
    if (JSON.isRawJSON(object) || names.length !== 1 || name === undefined || !LIKE_NUMBER.test(name))
      return undefined;
    const member: unknown = Reflect.get(object, name);
    if (name !== NUMBER) return { [name.slice(1)]: restoredJson(member) };
    return typeof member === "string" && SPELLING.test(member) ? JSON.rawJSON(member) : undefined;
  });
}

/** Nearly nothing is, so this looks without making anything. */
function isAffected(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (JSON.isRawJSON(value)) return true;
  if (Array.isArray(value)) return value.some(isAffected);
  let count = 0;
  let last = "";
  for (const name in value) {
    count += 1;
    last = name;
    if (isAffected(Reflect.get(value, name))) return true;
  }
  return count === 1 && LIKE_NUMBER.test(last);
}

/** Replaces objects in a value, outermost first; what is not replaced stays the same. */
function mapped(value: unknown, replace: (object: object, names: readonly string[]) => unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapped(item, replace));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const names = Object.keys(value);
  const replaced = replace(value, names);
  if (replaced !== undefined || JSON.isRawJSON(value)) return replaced ?? value;
  const members = names.map((name) => [name, mapped(Reflect.get(value, name), replace)] as const);
  return members.some(([name, member]) => member !== Reflect.get(value, name))
    ? Object.fromEntries(members)
    : value;
}
