export { ArtifactStore } from "./artifacts/artifact-store.ts";
export { privateReference } from "./artifacts/private-reference.ts";
export { reveal, withhold } from "./artifacts/withhold.ts";
export { blake3Hex } from "./blake3.ts";
export { canonicalJson, exactJson } from "./canonical.ts";
export { type Checkpoint, openCheckpoint, readCheckpoint, verifierKey } from "./checkpoint/note.ts";
export type { Draft } from "./entry/draft.ts";
export { Cid, type EntryContent, LedgerEntry, SYSTEM } from "./entry/entry.ts";
export { type BuiltEntry, buildEntry } from "./entry/entry-builder.ts";
export { Envelope } from "./entry/envelope.ts";
export { Attestation, Proof, ZkStark } from "./entry/proof.ts";
export { EntryQuality } from "./entry/quality.ts";
export { type AnnouncedKey, announcedKeys } from "./keys/announced-keys.ts";
export { type KeyDescription, KeyFolder, LOG_HOLDER } from "./keys/key-folder.ts";
export { KeyRing } from "./keys/key-ring.ts";
export { verifySignature } from "./keys/signer.ts";
export {
  Ledger,
  type LedgerOptions,
  type RecordOptions,
} from "./ledger.ts";
export { LedgerError, type LedgerErrorCode } from "./ledger-error.ts";
export { LedgerReader, type PlacedEntry } from "./ledger-reader.ts";
export { Audiences } from "./seal/audiences.ts";
export { openWith, sealFor } from "./seal/seal.ts";
export type { LedgerSigner, Signers } from "./signers.ts";
export { recordedJson, restoredJson } from "./spelled-number.ts";
export type { Appended } from "./tables/append.ts";
export type { EntryRange } from "./tables/filter.ts";
export { ledgerTables, type Sessions, type StoredCheckpoint } from "./tables/tables.ts";
export { type ExportOptions, exportLines } from "./transfer/export.ts";
export { type ArtifactWriter, type Imported, importLines } from "./transfer/import.ts";
export type { ArtifactReader } from "./transfer/private-content.ts";
export { type ProofFile, proveEntry } from "./transfer/proof-file.ts";
