import { fromBase64 } from "../bytes.ts";
import { HASH_LENGTH } from "../hashes.ts";
import type { JsonObject, JsonValue } from "../json/parse.ts";
import {
  COUNT,
  fits,
  literal,
  mismatches,
  OBJECT,
  OBJECT_OR_NULL,
  type Rule,
  type Shape,
  TEXT,
} from "../json/shape.ts";
import { parseStrict } from "../json/strict.ts";
import type { Findings } from "../report.ts";

/** The format of proof files this verifier knows. */
export const PROOF_FORMAT = "reins-proof/1";

/** An entry and its inclusion proof. */
export type ProvedEntry = { entry: JsonObject; index: number; hashes: string[] };

/** A file that proves an entry with no ledger at hand. */
export type ProofFile = ProvedEntry & {
  format: string;
  log_key: string;
  checkpoint: string;
  key: JsonObject | null;
};

const HASHES: Rule = {
  expected: "an array of hashes, 32 bytes each in base64",
  holds: (value) => Array.isArray(value) && value.every(isHash),
};

const PROVED_ENTRY: Shape<ProvedEntry> = { entry: OBJECT, index: COUNT, hashes: HASHES };

const PROOF_FILE: Shape<ProofFile> = {
  format: literal(PROOF_FORMAT),
  log_key: TEXT,
  checkpoint: TEXT,
  ...PROVED_ENTRY,
  key: OBJECT_OR_NULL,
};

/** Reads a proof file from its text, its bytes or what was parsed from it. */
export function readProofFile(file: unknown, findings: Findings): ProofFile | undefined {
  const value = parse(file, findings);
  if (value === undefined || fits(value, PROOF_FILE)) return value;
  complain(value, PROOF_FILE, "the file", findings);
  return undefined;
}

/** Reads the part of a proof file that proves the announcement of a key. */
export function readProvedKey(value: JsonObject, findings: Findings): ProvedEntry | undefined {
  if (fits(value, PROVED_ENTRY)) return value;
  complain(value, PROVED_ENTRY, "the proof of the key", findings);
  return undefined;
}

/** The hashes of an inclusion proof as bytes. */
export function hashesOf({ hashes }: ProvedEntry): Uint8Array[] {
  return hashes.map((hash) => fromBase64(hash) ?? new Uint8Array(HASH_LENGTH));
}

function parse(file: unknown, findings: Findings): JsonValue | undefined {
  try {
    if (typeof file === "string") return parseStrict(file);
    if (file instanceof Uint8Array)
      return parseStrict(new TextDecoder("utf-8", { fatal: true }).decode(file));
    // What was parsed elsewhere is taken for JSON by way of its text.
    return parseStrict(JSON.stringify(file) ?? "null");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    findings.fault({}, { code: "file_malformed", message: `the file is not JSON: ${reason}` });
    return undefined;
  }
}

function complain<Value extends JsonObject>(
  value: JsonValue,
  shape: Shape<Value>,
  what: string,
  findings: Findings,
): void {
  for (const one of mismatches(value, shape)) {
    findings.fault({}, { ...one, code: "file_malformed", message: `${what} ${one.message}` });
  }
}

function isHash(value: JsonValue): boolean {
  return typeof value === "string" && fromBase64(value)?.length === HASH_LENGTH;
}
