import { fromBase64Url } from "../bytes.ts";
import type { JsonValue } from "../json/parse.ts";
import { fits, literal, mismatches, type Shape, show, TEXT } from "../json/shape.ts";
import type { Complaint } from "../report.ts";
import type { Entry } from "./entry.ts";

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
