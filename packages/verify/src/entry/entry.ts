import { blake3, fromBase64Url, isHex, readHex, sameBytes, toHex } from "../bytes.ts";
import { isObject, type JsonObject, type JsonValue, PlainError } from "../json/parse.ts";
import {
  ANYTHING,
  DIGEST,
  DIGESTS,
  fits,
  literal,
  mismatches,
  OBJECT_OR_NULL,
  type Shape,
  show,
  TEXT,
  TEXTS,
} from "../json/shape.ts";
import type { Complaint, Findings, Location } from "../report.ts";
import { proofComplaints } from "./proof.ts";

/** What an entry can record. */
const QUALITIES = [
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

const known: ReadonlySet<JsonValue> = new Set(QUALITIES);
const attested: ReadonlySet<string> = new Set(["turn", "approval", "policy_change", "kill"]);

/** Whether a value names a quality. */
function isQuality(value: JsonValue): boolean {
  return known.has(value);
}

/** Whether entries of this quality have to be signed by their actor. */
export function isAttested(quality: string): boolean {
  return attested.has(quality);
}

const FORM = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const MONTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether a value is a time in UTC with milliseconds, written as `2026-11-15T05:20:00.000Z`, that exists. */
export function isTimestamp(value: JsonValue): boolean {
  if (typeof value !== "string" || !FORM.test(value)) return false;
  const [year, month, day] = [digits(value, 0, 4), digits(value, 5, 7), digits(value, 8, 10)];
  if (day < 1 || day > daysIn(year, month)) return false;
  return digits(value, 11, 13) < 24 && digits(value, 14, 16) < 60 && digits(value, 17, 19) < 60;
}

function daysIn(year: number, month: number): number {
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return (MONTHS[month - 1] ?? 0) + (leap ? 1 : 0);
}

function digits(text: string, start: number, end: number): number {
  let value = 0;
  for (let index = start; index < end; index += 1) value = value * 10 + text.charCodeAt(index) - 0x30;
  return value;
}

/** The chain of entries that belong to no session, and the actor that makes them. */
export const SYSTEM = "reins:system";

/** An entry of a ledger: twelve members. */
export type Entry = {
  cid: string;
  entity_id: string;
  target: string;
  quality: string;
  timestamp: string;
  source: string;
  actor: string;
  parents: string[];
  tags: string[];
  payload: JsonValue;
  proof: JsonObject | null;
  envelope: JsonObject | null;
};

export const ENTRY: Shape<Entry> = {
  cid: DIGEST,
  entity_id: TEXT,
  target: TEXT,
  quality: { expected: `one of ${QUALITIES.join(", ")}`, holds: isQuality },
  timestamp: { expected: "a time such as 2026-11-15T05:20:00.000Z", holds: isTimestamp },
  source: TEXT,
  actor: TEXT,
  parents: DIGESTS,
  tags: TEXTS,
  payload: ANYTHING,
  proof: OBJECT_OR_NULL,
  envelope: OBJECT_OR_NULL,
};

/** A payload sealed for an audience. */
type Envelope = { audience_label: string; encrypted_key: string; ciphertext: string };

const NONCE = 12;
const TAG = 16;
const KEY = 32;

const ENVELOPE: Shape<Envelope> = {
  audience_label: TEXT,
  encrypted_key: {
    expected: "v1.KEY_ID.EPHEMERAL.WRAPPED, the last two 32 and 60 bytes in base64url",
    holds: isWrappedKey,
  },
  ciphertext: {
    expected: "a nonce and an AES-GCM ciphertext in base64url",
    holds: (value) => typeof value === "string" && (fromBase64Url(value)?.length ?? 0) > NONCE + TAG,
  },
};

const SEALED: Shape<{ sealed: boolean }> = { sealed: literal(true) };

/** What is wrong with an entry's envelope, or with the payload beside it. Whether it can be opened is not looked at. */
function envelopeComplaints({ envelope, payload }: Entry): Complaint[] {
  if (envelope === null) return [];
  const complaints = mismatches(envelope, ENVELOPE).map(
    (one): Complaint => ({ ...one, code: "envelope_malformed", message: `the envelope ${one.message}` }),
  );
  if (fits(payload, SEALED)) return complaints;
  return [
    ...complaints,
    {
      code: "envelope_open",
      message: "the entry has an envelope and yet a payload of its own",
      expected: '{"sealed":true}',
      found: show(payload),
    },
  ];
}

function isWrappedKey(value: JsonValue): boolean {
  if (typeof value !== "string") return false;
  const [version, keyId, ephemeral, wrapped, ...rest] = value.split(".");
  if (version !== "v1" || !keyId || rest.length > 0) return false;
  if (fromBase64Url(ephemeral ?? "")?.length !== KEY) return false;
  return fromBase64Url(wrapped ?? "")?.length === NONCE + KEY + TAG;
}

/** The canonical texts of an entry. */
export interface Content {
  /** Everything but `cid`: what the content id is the digest of. */
  readonly body: string;
  /** The same with `proof` set to null: what an attestation signs. */
  attested(): string;
}

/**
 * The canonical texts of an entry.
 *
 * @throws PlainError when it is not plain JSON.
 */
function contentOf(entry: Entry): Content {
  return {
    body: canonicalJson(withProof(entry, entry.proof)),
    attested: () => canonicalJson(withProof(entry, null)),
  };
}

/** The canonical form of everything but `cid` in what may not be an entry. */
function bodyOf({ cid: _, ...content }: JsonObject): string {
  return canonicalJson(content);
}

/** The members but `cid`, in the order of the canonical form, so that it costs no sorting. */
function withProof(entry: Entry, proof: JsonObject | null): JsonObject {
  return {
    actor: entry.actor,
    entity_id: entry.entity_id,
    envelope: entry.envelope,
    parents: entry.parents,
    payload: entry.payload,
    proof,
    quality: entry.quality,
    source: entry.source,
    tags: entry.tags,
    target: entry.target,
    timestamp: entry.timestamp,
  };
}

/** The largest entry, in bytes of its canonical form. */
const ENTRY_LIMIT = 1024 * 1024;

const encoder = new TextEncoder();

/** Reused from entry to entry: a digest is made without waiting in between. */
const buffer = new Uint8Array(ENTRY_LIMIT);

/** The digest of an entry, and whether the entry is no larger than it may be. */
interface EntryDigest {
  readonly digest: Uint8Array;
  readonly fits: boolean;
}

/** BLAKE3-256 of the canonical form of an entry without its content id. */
function digestOf(body: string): EntryDigest {
  const { read, written } = encoder.encodeInto(body, buffer);
  if (read === body.length) return { digest: blake3(buffer.subarray(0, written)), fits: true };
  return { digest: blake3(encoder.encode(body)), fits: false };
}

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

/** An entry after everything was checked that it shows by itself. */
export interface InspectedEntry {
  /** With the content id that the entry states. */
  readonly place: Location;
  /** The bytes of that content id, or of the right one where it states none: its leaf in the tree. */
  readonly leaf: Uint8Array;
  /** The entry, when all its members are as they must be. */
  readonly entry: Entry | undefined;
  /** Its canonical texts, when it is plain JSON as well. */
  readonly content: Content | undefined;
}

/** Checks an entry's members, proof, envelope and content id; what it takes from its neighbours is not looked at. */
export function inspectEntry(value: JsonValue, place: Location, findings: Findings): InspectedEntry {
  if (!fits(value, ENTRY)) return inspectMalformed(value, place, findings);
  const here = { ...place, cid: value.cid };
  const content = plain(() => contentOf(value), here, findings);
  const leaf = leafOf(value.cid, content?.body, here, findings);
  if (value.proof !== null) for (const one of proofComplaints(value.proof)) findings.fault(here, one);
  if (value.envelope !== null) for (const one of envelopeComplaints(value)) findings.fault(here, one);
  return { place: here, leaf, entry: value, content };
}

function inspectMalformed(value: JsonValue, place: Location, findings: Findings): InspectedEntry {
  const stated = isObject(value) && isHex(value.cid, 64) ? value.cid : undefined;
  const here = stated === undefined ? place : { ...place, cid: stated };
  for (const one of mismatches(value, ENTRY)) {
    findings.fault(here, { ...one, code: "entry_malformed", message: `the entry ${one.message}` });
  }
  const body = isObject(value) ? plain(() => bodyOf(value), here, findings) : undefined;
  return { place: here, leaf: leafOf(stated, body, here, findings), entry: undefined, content: undefined };
}

function plain<Result>(read: () => Result, place: Location, findings: Findings): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof PlainError)) throw error;
    findings.fault(place, { code: "entry_not_plain", message: `the entry holds ${error.message}` });
    return undefined;
  }
}

function leafOf(
  stated: string | undefined,
  body: string | undefined,
  place: Location,
  findings: Findings,
): Uint8Array {
  const leaf = new Uint8Array(32);
  if (stated !== undefined) readHex(stated, leaf);
  if (body === undefined) return leaf;
  const { digest, fits: small } = digestOf(body);
  if (!small) {
    findings.fault(place, {
      code: "entry_too_large",
      message: "the entry is too large",
      expected: `at most ${ENTRY_LIMIT} bytes of canonical JSON`,
    });
  }
  if (stated === undefined) return digest;
  if (!sameBytes(digest, leaf)) {
    findings.fault(place, {
      code: "cid_mismatch",
      message: "the content id does not belong to the content: one of them was changed",
      expected: toHex(digest),
      found: stated,
    });
  }
  return leaf;
}
