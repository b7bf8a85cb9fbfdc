import { excessOf } from "@reins/policy";

/** Why nobody can judge by a payload what would be done; `undefined` when one can. */
export function payloadFault(payload: unknown): string | undefined {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload))
    return "the payload is no object";
  const excess = excessOf(payload);
  if (excess !== undefined) return `the payload is ${excess}`;
  return isWellFormed(payload) ? undefined : "the payload holds half of a surrogate pair, which is no text";
}

/** Whether all texts in a value are; it is known not to be nested deep. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isWellFormed);
  return Object.keys(value).every(isWellFormed) && Object.values(value).every(isWellFormed);
}
