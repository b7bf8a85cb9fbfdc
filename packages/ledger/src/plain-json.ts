import { LedgerError } from "./ledger-error.ts";

/** The deepest nesting of arrays and objects in an entry. */
export const DEEPEST_ENTRY = 64;

/** Refuses what is not plain JSON, and says where: a Map, a function, a lone surrogate, NaN, a cycle. */
export function assertPlainJson(value: unknown, path = "payload"): void {
  check(value, path, 0);
}

function check(value: unknown, path: string, depth: number): void {
  switch (typeof value) {
    case "boolean":
      return;
    case "number":
      if (!Number.isFinite(value)) throw invalid(path, `${value} is not a JSON number`);
      return;
    case "string":
      if (!value.isWellFormed()) throw invalid(path, "a string holds half of a surrogate pair");
      return;
    case "object":
      if (value !== null) checkContainer(value, path, depth + 1);
      return;
    default:
      throw invalid(path, `a value of type ${typeof value} has no JSON form`);
  }
}

function checkContainer(value: object, path: string, depth: number): void {
  if (JSON.isRawJSON(value)) throw invalid(path, "a number that no double holds has to be recorded as text");
  if (depth > DEEPEST_ENTRY)
    throw invalid(path, `nested deeper than ${DEEPEST_ENTRY} arrays and objects, or a cycle`);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) check(value[index], `${path}[${index}]`, depth);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw invalid(path, `a ${value.constructor?.name ?? "strange object"} is not a plain object`);
  }
  for (const [key, member] of Object.entries(value)) {
    if (!key.isWellFormed()) throw invalid(path, "a key holds half of a surrogate pair");
    check(member, `${path}.${key}`, depth);
  }
  if (Object.getOwnPropertySymbols(value).length > 0) throw invalid(path, "symbols have no JSON form");
}

function invalid(path: string, text: string): LedgerError {
  return new LedgerError("invalid", `${path}: ${text}`);
}
