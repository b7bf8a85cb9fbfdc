export { ArtifactStore } from "./artifacts/artifact-store.ts";
export { privateReference, reveal, withhold } from "./artifacts/private-payload.ts";
export { blake3Hex } from "./blake3.ts";
export { canonicalJson, exactJson } from "./canonical.ts";
export { type Checkpoint, openCheckpoint, readCheckpoint, verifierKey } from "./checkpoint.ts";
export type { Draft } from "./entry/draft.ts";
export {
  Attestation,
  Cid,
  type EntryContent,
  EntryQuality,
  Envelope,
  LedgerEntry,
  Proof,
  SYSTEM,
  ZkStark,
} from "./entry/entry.ts";
export { type BuiltEntry, buildEntry } from "./entry/entry-builder.ts";
export { recordedJson, restoredJson } from "./exact-number.ts";
export type { LedgerSigner, Signers } from "./keys/announced-keys.ts";
export { type AnnouncedKey, announcedKeys } from "./keys/announced-keys.ts";
export { type KeyDescription, KeyFolder, KeyRing, LOG_HOLDER } from "./keys/key-folder.ts";
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
export type { Appended } from "./tables/append.ts";
export type { EntryRange } from "./tables/queries.ts";
export { ledgerTables, type Sessions, type StoredCheckpoint } from "./tables/tables.ts";
export type { ArtifactReader } from "./transfer/export.ts";
export { type ExportOptions, exportLines } from "./transfer/export.ts";
export { type ArtifactWriter, type Imported, importLines } from "./transfer/import.ts";
export { type ProofFile, proveEntry } from "./transfer/proof-file.ts";
