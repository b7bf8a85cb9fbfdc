import { isRecord } from "@reins/kit";
import canonicalize from "canonicalize";
import { createBLAKE3 } from "hash-wasm";
import { LedgerError } from "./ledger-error.ts";

/** The deepest nesting of arrays and objects in an entry. */
const MAX_NESTING = 64;

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
  if (depth > MAX_NESTING)
    throw invalid(path, `nested deeper than ${MAX_NESTING} arrays and objects, or a cycle`);
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

/** What has no ordered form here. */
const NONE = Symbol("none");
/** As many names as are sorted by insertion, whose effort grows with their square. */
const FEW = 24;
const ZERO = "0".charCodeAt(0);
const NINE = "9".charCodeAt(0);

/**
 * A plain JSON value with the members of all its objects in the order of RFC 8785, so that `JSON.stringify` writes its
 * canonical form; the very same value where they stand in that order already. `undefined` for what is not plain JSON,
 * and for the few names that an object cannot hold in any order one likes.
 */
function orderedJson(value: unknown): unknown {
  const ordered = orderedValue(value, 0);
  return ordered === NONE ? undefined : ordered;
}

function orderedValue(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? value : NONE;
    case "number":
      return Number.isFinite(value) ? value : NONE;
    case "boolean":
      return value;
    case "object":
      if (value === null) return value;
      if (JSON.isRawJSON(value)) return NONE;
      if (depth === MAX_NESTING) return NONE;
      if (Array.isArray(value)) return orderedList(value, depth + 1);
      return isRecord(value) ? orderedObject(value, depth + 1) : NONE;
    default:
      return NONE;
  }
}

function orderedList(list: readonly unknown[], depth: number): unknown {
  let copy: unknown[] | undefined;
  for (let index = 0; index < list.length; index += 1) {
    const ordered = orderedValue(list[index], depth);
    if (ordered === NONE) return NONE;
    if (ordered === list[index]) continue;
    copy ??= [...list];
    copy[index] = ordered;
  }
  return copy ?? list;
}

type Members = Record<string, unknown>;

function orderedObject(object: Readonly<Members>, depth: number): unknown {
  if (!isPlain(object)) return NONE;
  const names = Object.keys(object);
  let copy: Members | undefined;
  if (!areInOrder(names)) {
    sort(names);
    copy = {};
  }
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] ?? "";
    const ordered = keepsItsPlace(name) ? orderedValue(object[name], depth) : NONE;
    if (ordered === NONE) return NONE;
    if (!copy && ordered !== object[name]) copy = membersOf(object, names.slice(0, index));
    if (copy) copy[name] = ordered;
  }
  return copy ?? object;
}

function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.getOwnPropertySymbols(object).length === 0;
}

function areInOrder(names: readonly string[]): boolean {
  for (let index = 1; index < names.length; index += 1)
    if ((names[index - 1] ?? "") > (names[index] ?? "")) return false;
  return true;
}

/** Sorts names by their UTF-16 units. Few are put in their places several times as fast as the engine does it. */
function sort(names: string[]): void {
  if (names.length > FEW) {
    names.sort();
    return;
  }
  for (let index = 1; index < names.length; index += 1) {
    const name = names[index] ?? "";
    let place = index;
    for (; place > 0 && (names[place - 1] ?? "") > name; place -= 1) names[place] = names[place - 1] ?? "";
    names[place] = name;
  }
}

/** Any object has its numbers first, and `__proto__` is not a member like others. */
function keepsItsPlace(name: string): boolean {
  const first = name.charCodeAt(0);
  return !(first >= ZERO && first <= NINE) && name !== "__proto__" && name.isWellFormed();
}

function membersOf(object: Readonly<Members>, names: readonly string[]): Members {
  const members: Members = {};
  for (const name of names) members[name] = object[name];
  return members;
}

/** The RFC 8785 form of a plain JSON value; check first that it is one. */
export function canonicalJson(value: unknown): string {
  const text = quickCanonicalJson(value) ?? canonicalize(value);
  if (text === undefined) throw new LedgerError("invalid", "there is no JSON to write");
  return text;
}

/** The RFC 8785 form of a JSON value whose numbers may have more digits than a double holds. */
export function exactJson(value: unknown): string {
  return canonicalJson(recordedJson(value));
}

/**
 * The result of `canonicalJson` for values that are quickly recognized as plain JSON, else `undefined`. RFC 8785 writes
 * strings and numbers as `JSON.stringify` does, which is several times faster than JavaScript code.
 */
export function quickCanonicalJson(value: unknown): string | undefined {
  const ordered = orderedJson(value);
  return ordered === undefined ? undefined : JSON.stringify(ordered);
}

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

const hasher = await createBLAKE3();

/** BLAKE3-256 as 64 lower-case hexadecimal digits. One hasher serves all, in one step, so calls cannot mix. */
export function blake3Hex(data: string | Uint8Array): string {
  return hasher.init().update(data).digest("hex");
}
