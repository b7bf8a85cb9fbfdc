import { isHex, readHex, sameBytes, toHex } from "../bytes.ts";
import { isObject, type JsonValue, PlainError } from "../json/parse.ts";
import { fits, mismatches } from "../json/shape.ts";
import type { Findings, Location } from "../report.ts";
import {
  bodyOf,
  type Content,
  contentOf,
  digestOf,
  ENTRY,
  ENTRY_LIMIT,
  type Entry,
  envelopeComplaints,
} from "./entry.ts";
import { proofComplaints } from "./proof.ts";

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
