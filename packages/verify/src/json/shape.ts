import { isObject, type JsonObject, type JsonValue } from "./value.ts";

/** What a member must be. */
export interface Rule {
  /** In words, to follow "expected". */
  readonly expected: string;
  holds(value: JsonValue): boolean;
}

/** The members of an object: these and no others. */
export type Shape<Value extends JsonObject> = { readonly [Member in keyof Value]-?: Rule };

/** How an object differs from its shape. */
export interface Mismatch {
  readonly message: string;
  readonly expected: string;
  readonly found: string;
}

/** Whether a value has exactly the members of a shape, each as it must be. */
export function fits<Value extends JsonObject>(
  value: JsonValue | undefined,
  shape: Shape<Value>,
): value is Value {
  if (!isObject(value)) return false;
  let count = 0;
  for (const member in shape) {
    if (!Object.hasOwn(value, member) || !shape[member].holds(value[member] ?? null)) return false;
    count += 1;
  }
  for (const _ in value) count -= 1;
  return count === 0;
}

/** Everything that keeps a value from fitting a shape. */
export function mismatches<Value extends JsonObject>(
  value: JsonValue | undefined,
  shape: Shape<Value>,
): Mismatch[] {
  if (!isObject(value)) return [{ message: "is no object", expected: "an object", found: show(value) }];
  const found: Mismatch[] = [];
  for (const member in shape) {
    const { expected, holds } = shape[member];
    if (!Object.hasOwn(value, member)) {
      found.push({ message: `lacks the member ${member}`, expected, found: "nothing" });
    } else if (!holds(value[member] ?? null)) {
      found.push({ message: `has a wrong ${member}`, expected, found: show(value[member]) });
    }
  }
  for (const member of Object.keys(value)) {
    if (Object.hasOwn(shape, member)) continue;
    found.push({
      message: `has a member that does not belong: ${JSON.stringify(member)}`,
      expected: "nothing",
      found: show(value[member]),
    });
  }
  return found;
}

/** A value as text, to be shown. */
export function show(value: JsonValue | undefined): string {
  try {
    return value === undefined ? "nothing" : JSON.stringify(value);
  } catch {
    // JSON.stringify is recursive, and JSON.parse is not.
    return "something nested too deep to be shown";
  }
}
