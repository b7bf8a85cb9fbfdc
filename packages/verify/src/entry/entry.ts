import { fromBase64Url } from "../bytes.ts";
import type { JsonObject, JsonValue } from "../json/parse.ts";
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
import type { Complaint } from "../report.ts";

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
export function envelopeComplaints({ envelope, payload }: Entry): Complaint[] {
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
