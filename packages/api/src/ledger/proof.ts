import { z } from "zod";
import { named } from "../named.ts";
import { Moment } from "../text.ts";
import { RecordedEntry } from "./entry.ts";

const hashes = z.array(z.string().describe("32 bytes, base64"));
const note = z.string().describe("a signed note: origin, size, root and signature");

/** Proves that an entry is in a ledger, with no ledger at hand: what `verifyProof` of packages/verify takes. */
export const EntryProof = named(
  "EntryProof",
  z.looseObject({
    format: z.literal("reins-proof/1"),
    log_key: z.string().describe("the verifier key, NAME+HASH+KEY"),
    checkpoint: note,
    entry: RecordedEntry,
    index: z.int(),
    hashes: hashes.describe("the RFC 6962 inclusion proof"),
    key: z
      .looseObject({ entry: RecordedEntry, index: z.int(), hashes })
      .nullable()
      .describe("the announcement of the key that signed the entry, proven alike"),
  }),
);

/** The ledger's newest checkpoint, which covers every entry there was when it was asked for. */
export const LedgerCheckpoint = named(
  "LedgerCheckpoint",
  z.looseObject({
    origin: z.string().describe("the name of the ledger"),
    log_key: z.string().describe("the key that checkpoints are signed with, NAME+HASH+KEY"),
    size: z.int(),
    root: z.string().describe("32 bytes, base64"),
    note,
  }),
);

/** Joins an earlier checkpoint to the newest: what `verifyConsistency` of packages/verify takes. */
export const ConsistencyProof = named(
  "ConsistencyProof",
  z.looseObject({
    log_key: z.string(),
    from: z.int().describe("the size of the earlier checkpoint"),
    to: z.int(),
    later: note.describe("the newest checkpoint"),
    hashes: hashes.describe("the RFC 6962 consistency proof"),
  }),
);

/** A public key that signs entries, as the ledger itself announces it. */
export const LedgerKey = named(
  "LedgerKey",
  z.looseObject({
    key_id: z.string(),
    holder: z.string(),
    public_key: z.string().describe("32 bytes of Ed25519, base64"),
    announced: z.int().describe("the place of the entry that announces it"),
    retired: z.int().nullable().describe("the place of the entry after which it signs no more"),
    announced_at: Moment,
  }),
);

export const LedgerKeys = named(
  "LedgerKeys",
  z.looseObject({ origin: z.string(), log_key: z.string(), keys: z.array(LedgerKey) }),
);
