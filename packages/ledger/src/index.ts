export { ArtifactStore } from "./artifacts/artifact-store.ts";
export {
  blake3Hasher,
  blake3Hex,
  canonicalJson,
  exactJson,
  recordedJson,
  restoredJson,
  SYSTEM,
} from "./canonical.ts";
export { type Checkpoint, openCheckpoint, readCheckpoint, verifierKey } from "./checkpoint.ts";
export type { Draft, RecordOptions } from "./entry.ts";
export { buildEntry, EntryQuality, LedgerEntry } from "./entry.ts";
export { type AnnouncedKey, announcedKeys } from "./keys/announced-keys.ts";
export { KeyFolder } from "./keys/key-folder.ts";
export { verifySignature } from "./keys/signer.ts";
export { Ledger } from "./ledger.ts";
export { LedgerError } from "./ledger-error.ts";
export { LedgerReader, type PlacedEntry } from "./ledger-reader.ts";
export type { EntryRange } from "./tables/queries.ts";
export { ledgerTables, type Sessions } from "./tables/tables.ts";
export { exportLines, type Imported, importLines, proveEntry } from "./transfer.ts";
