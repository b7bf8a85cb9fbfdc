import { isObject, type JsonObject } from "@reins/acp";

/** Lays one object over another: objects within them are merged, everything else is replaced. */
export function laidOver(under: Readonly<JsonObject>, over: Readonly<JsonObject>): JsonObject {
  const entries = Object.entries(over).map(([key, value]): [string, unknown] => {
    const below = Object.hasOwn(under, key) ? under[key] : undefined;
    return [key, isObject(below) && isObject(value) ? laidOver(below, value) : value];
  });
  return { ...under, ...Object.fromEntries(entries) };
}
