/** What is wrong, in a form that stays the same between versions. */
export type FaultCode =
  // The stream.
  | "stream_broken"
  | "gzip_invalid"
  | "line_too_long"
  | "line_not_utf8"
  | "line_not_json"
  | "line_malformed"
  | "member_repeated"
  | "header_missing"
  | "header_misplaced"
  | "end_missing"
  | "after_end"
  | "size_mismatch"
  | "seq_mismatch"
  // Entries.
  | "entry_malformed"
  | "entry_not_plain"
  | "entry_too_large"
  | "entry_not_canonical"
  | "cid_mismatch"
  | "chain_broken"
  | "copy_mismatch"
  // Proofs and keys.
  | "proof_malformed"
  | "attestation_missing"
  | "signature_invalid"
  | "key_unknown"
  | "key_retired"
  | "key_holder"
  | "key_malformed"
  | "key_repeated"
  | "key_not_by_system"
  | "first_entry"
  // Envelopes and private content.
  | "envelope_malformed"
  | "envelope_open"
  | "private_size"
  | "artifact_mismatch"
  | "artifact_unreferenced"
  | "artifact_repeated"
  // The log.
  | "log_key_malformed"
  | "log_key_mismatch"
  | "origin_mismatch"
  | "checkpoint_malformed"
  | "checkpoint_signature"
  | "checkpoint_order"
  | "checkpoint_misplaced"
  | "root_mismatch"
  | "entries_uncovered"
  // An earlier checkpoint.
  | "seen_signature"
  | "seen_shorter"
  | "seen_forked"
  // Proof files.
  | "file_malformed"
  | "inclusion_invalid"
  | "key_proof_missing"
  | "key_proof_unexpected";

/** One thing that is wrong, and where. */
export interface Fault {
  readonly code: FaultCode;
  /** Where the entry stands in the ledger, as the ledger says. */
  readonly seq?: number;
  /** The entry's content id, as the ledger says. */
  readonly cid?: string;
  /** The line of the export, from 1. */
  readonly line?: number;
  /** For a person. */
  readonly message: string;
  readonly expected?: string;
  readonly found?: string;
}

/** Where a fault lies. */
export type Place = Pick<Fault, "line" | "seq" | "cid">;

/** What a fault says, apart from where it lies. */
export type Complaint = Pick<Fault, "code" | "message" | "expected" | "found">;
