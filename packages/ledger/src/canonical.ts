import { sign } from "node:crypto";
import type { Clock } from "@reins/kit";
import { parseStored } from "@reins/store";
import canonicalize from "canonicalize";
import { createBLAKE3 } from "hash-wasm";
import type {
  AttestationOrder,
  Cid,
  Draft,
  EntryContent,
  EntryQuality,
  LedgerEntry,
  ParentlessContent,
  PreparedEntry,
} from "./entry.ts";
import { LedgerError } from "./ledger-error.ts";
import { assertPlainJson, DEEPEST_ENTRY } from "./plain-json.ts";

/** There is no ordered form. */
const NONE = Symbol("none");
/** The most names that are sorted by insertion, which takes quadratic time. */
const FEW = 24;
const ZERO = "0".charCodeAt(0);
const NINE = "9".charCodeAt(0);

/**
 * A plain JSON value with the members of all its objects in the order of RFC 8785, so that `JSON.stringify` writes its
 * canonical form; the same value where they are in that order already. {@link NONE} for what is not plain JSON, and for
 * the few names that JavaScript objects keep in an order of their own.
 */
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
      if (depth === DEEPEST_ENTRY) return NONE;
      if (Array.isArray(value)) return orderedList(value, depth + 1);
      return orderedObject(value, depth + 1);
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

function orderedObject(object: object, depth: number): unknown {
  if (!isPlain(object)) return NONE;
  const names = Object.keys(object);
  let copy: Members | undefined;
  if (!areInOrder(names)) {
    sort(names);
    copy = {};
  }
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] ?? "";
    const ordered = keepsOrder(name) ? orderedValue(object[name], depth) : NONE;
    if (ordered === NONE) return NONE;
    if (!copy && ordered !== object[name]) copy = membersOf(object, names.slice(0, index));
    if (copy) copy[name] = ordered;
  }
  return copy ?? object;
}

function isPlain(object: object): object is Readonly<Members> {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.getOwnPropertySymbols(object).length === 0;
}

function areInOrder(names: readonly string[]): boolean {
  for (let index = 1; index < names.length; index += 1)
    if ((names[index - 1] ?? "") > (names[index] ?? "")) return false;
  return true;
}

/** Sorts names by their UTF-16 units. For a few, an insertion sort is several times as fast as the engine's. */
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

/** Objects have numbers first, and `__proto__` is not a member like others. */
function keepsOrder(name: string): boolean {
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
  const ordered = orderedValue(value, 0);
  return ordered === NONE ? undefined : JSON.stringify(ordered);
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

/** Nearly no value is, so this check allocates nothing. */
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

/** A BLAKE3-256 of what comes piece by piece. */
export async function blake3Hasher(): Promise<{ update(bytes: Uint8Array): void; digest(): string }> {
  const own = (await createBLAKE3()).init();
  return { update: (bytes) => void own.update(bytes), digest: () => own.digest("hex") };
}

/** What entries record. */
export const QUALITIES = [
  "turn",
  "tool_call",
  "tool_result",
  "policy_verdict",
  "mailbox_inject",
  "session_lifecycle",
  "approval",
  "policy_change",
  "kill",
] as const;

const ATTESTED: ReadonlySet<EntryQuality> = new Set(["turn", "approval", "policy_change", "kill"]);

/** Whether entries of this quality are signed by their actor. */
export function isAttested(quality: EntryQuality): boolean {
  return ATTESTED.has(quality);
}

/** The chain of entries that belong to no session, and the actor that makes them. */
export const SYSTEM = "reins:system";

/** The content of a draft with its time, checked but for its payload, which {@link prepare} checks. */
export function contentOf(draft: Draft, clock: Clock): ParentlessContent {
  const entity_id = draft.entity_id ?? SYSTEM;
  const content = {
    entity_id,
    target: draft.target,
    quality: draft.quality,
    timestamp: clock.now().toISOString(),
    source: draft.source ?? entity_id,
    actor: draft.actor,
    tags: [...(draft.tags ?? [])],
    payload: draft.payload,
    // The actor signs it, which replaces any other proof.
    proof: isAttested(draft.quality) ? null : (draft.proof ?? null),
    envelope: null,
  };
  checkTexts(content);
  draft.rules_checked?.forEach(checkText);
  if (draft.rules_checked?.length !== draft.predicate_results?.length) {
    throw new LedgerError("invalid", "every rule that was checked has one result");
  }
  return content;
}

/** Checks the texts of an entry as its schema does, but faster: this runs for every entry. */
function checkTexts({ entity_id, actor, target, source, tags, quality }: ParentlessContent): void {
  if (!QUALITIES.includes(quality)) throw new LedgerError("invalid", `there is no quality "${quality}"`);
  if (entity_id === "" || actor === "")
    throw new LedgerError("invalid", "an entry names its session and its actor");
  checkText(entity_id);
  checkText(actor);
  checkText(target);
  checkText(source);
  tags.forEach(checkText);
}

function checkText(text: unknown): void {
  if (typeof text !== "string") throw new LedgerError("invalid", `${typeof text} where a text is expected`);
  if (!text.isWellFormed()) throw new LedgerError("invalid", "a text holds half of a surrogate pair");
}

/** The largest entry, in bytes of its canonical form. */
const MAX_ENTRY_BYTES = 1024 * 1024;

/** The canonical form of an entry's content. */
export function bodyOf(content: EntryContent): string {
  const body = canonicalJson(content);
  assertSize(body);
  return body;
}

/** Rejects an entry beyond the bound, given all the text it will have. */
function assertSize(...texts: readonly string[]): void {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  // No character takes more than three bytes for each of its UTF-16 units.
  if (length * 3 <= MAX_ENTRY_BYTES) return;
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes <= MAX_ENTRY_BYTES) return;
  throw new LedgerError("invalid", `an entry is at most ${MAX_ENTRY_BYTES} bytes long, this one is ${bytes}`);
}

/** The content id that belongs to a canonical body. */
export function cidOf(body: string): Cid {
  return blake3Hex(body);
}

/** The entry of a stored body. */
export function entryOf(cid: Cid, body: string): LedgerEntry {
  const content = parseStored<EntryContent>(body);
  return { cid, ...content };
}

const NO_PARENTS = '"parents":[]';
const NO_PROOF = '"proof":null';

/** Prepares an entry whose texts have been checked; all of it has to be plain JSON. */
export function prepare(content: ParentlessContent): PreparedEntry {
  const { actor, entity_id, envelope, payload, proof, quality, source, tags, target, timestamp } = content;
  // In the order of their names, so that sorting finds nothing to do.
  const entry: EntryContent = {
    actor,
    entity_id,
    envelope,
    parents: [],
    payload: recordedJson(payload),
    proof,
    quality,
    source,
    tags,
    target,
    timestamp,
  };
  const quick = quickCanonicalJson(entry);
  if (quick === undefined) assertPlainJson(entry, "entry");
  const body = quick ?? canonicalJson(entry);
  assertSize(body, ROOM_TO_COME);
  const excerpt = excerptOf(entry);
  return { entity_id, quality, actor, timestamp, body, excerpt, attestation: undefined };
}

/** What an entry is found by before it is indexed, in the form of an entry: its tags, and the state or verdict it records. */
export function excerptOf({ payload, tags }: Pick<EntryContent, "payload" | "tags">): string {
  const { state, verdict } = { state: undefined, verdict: undefined, ...Object(payload) };
  return JSON.stringify({ payload: { state, verdict }, tags });
}

/** The same entry, to be signed when its parents are known. */
export function attested(entry: PreparedEntry, attestation: AttestationOrder): PreparedEntry {
  const { rules_checked, predicate_results } = attestation;
  assertSize(entry.body, ROOM_TO_COME, JSON.stringify([rules_checked, predicate_results]));
  return { ...entry, attestation };
}

/**
 * The canonical form of an entry once its parents are known. The places are found by names in quotes, which no text can
 * hold; none of the members before `parents`, or after `proof`, has one of these names inside.
 */
export function bodyWith(
  { body, attestation }: Pick<PreparedEntry, "body" | "attestation">,
  parents: readonly Cid[],
): string {
  const unsigned = body.replace(NO_PARENTS, `"parents":${JSON.stringify(parents)}`);
  if (!attestation) return unsigned;
  const proof = unsigned.lastIndexOf(NO_PROOF);
  const [before, after] = [unsigned.slice(0, proof), unsigned.slice(proof + NO_PROOF.length)];
  return `${before}"proof":${attest(attestation, unsigned)}${after}`;
}

function attest(order: AttestationOrder, unsigned: string): string {
  const { key_id, privateKey, rules_checked, predicate_results } = order;
  const signature = sign(null, Buffer.from(unsigned), privateKey).toString("base64");
  return canonicalJson({ key_id, predicate_results, rules_checked, signature, type: "attestation" });
}

/** As long as parents and attestation get, but for the names of rules. */
const ROOM_TO_COME = "x".repeat(1_024);
