import { fromBase64 } from "../bytes.ts";
import type { JsonObject, JsonValue } from "../json/parse.ts";
import {
  ANYTHING,
  BOOLEANS,
  fits,
  KEY_ID,
  literal,
  mismatches,
  type Rule,
  type Shape,
  TEXTS,
} from "../json/shape.ts";
import type { Complaint } from "../report.ts";

/** The actor's signature over an entry. */
export type Attestation = {
  type: "attestation";
  key_id: string;
  rules_checked: string[];
  predicate_results: boolean[];
  signature: string;
};

/** A proof of computation, which is carried and not checked. */
type ZkStark = { type: "zk_stark"; stark_proof: JsonValue; public_inputs: JsonValue };

const SIGNATURE: Rule = {
  expected: "64 bytes in base64",
  holds: (value) => typeof value === "string" && fromBase64(value)?.length === 64,
};

const ATTESTATION: Shape<Attestation> = {
  type: literal("attestation"),
  key_id: KEY_ID,
  rules_checked: TEXTS,
  predicate_results: BOOLEANS,
  signature: SIGNATURE,
};

const ZK_STARK: Shape<ZkStark> = {
  type: literal("zk_stark"),
  stark_proof: ANYTHING,
  public_inputs: ANYTHING,
};

/** Whether a proof is a well-formed attestation. */
export function isAttestation(proof: JsonObject | null): proof is Attestation {
  return (
    proof !== null &&
    fits(proof, ATTESTATION) &&
    proof.rules_checked.length === proof.predicate_results.length
  );
}

/** What keeps a proof from being one of the format. */
export function proofComplaints(proof: JsonObject): Complaint[] {
  if (isAttestation(proof) || fits(proof, ZK_STARK)) return [];
  if (fits(proof, ATTESTATION)) return [unevenRules(proof)];
  const found =
    proof.type === "zk_stark"
      ? mismatches<ZkStark>(proof, ZK_STARK)
      : mismatches<Attestation>(proof, ATTESTATION);
  return found.map((one) => ({ ...one, code: "proof_malformed", message: `the proof ${one.message}` }));
}

function unevenRules({ rules_checked, predicate_results }: Attestation): Complaint {
  return {
    code: "proof_malformed",
    message: "the proof does not have one result for each rule",
    expected: `${rules_checked.length} results`,
    found: `${predicate_results.length}`,
  };
}
