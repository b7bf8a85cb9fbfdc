import { z } from "zod";
import { named } from "../named.ts";
import { Hash, Moment } from "../text.ts";

/** What an entry records. */
export const LedgerQuality = z.enum([
  "turn",
  "tool_call",
  "tool_result",
  "policy_verdict",
  "mailbox_inject",
  "session_lifecycle",
  "approval",
  "policy_change",
  "kill",
]);

/** An entry of the ledger, to the byte what its content id was computed from. */
export const RecordedEntry = named(
  "RecordedEntry",
  z.looseObject({
    cid: Hash.describe("BLAKE3 of the canonical JSON of all other members"),
    entity_id: z.string().describe("the key of the session it belongs to, or reins:system"),
    target: z.string(),
    quality: LedgerQuality,
    timestamp: Moment,
    source: z.string(),
    actor: z.string(),
    parents: z.array(Hash),
    tags: z.array(z.string()),
    payload: z.unknown(),
    proof: z.unknown(),
    envelope: z.unknown(),
  }),
);

/** An entry and its place. */
export const PlacedEntry = named(
  "PlacedEntry",
  z.looseObject({
    seq: z.int().describe("its place in the ledger, from 0; the index of its leaf in the tree"),
    entry: RecordedEntry,
  }),
);
export type PlacedEntry = z.infer<typeof PlacedEntry>;

/** Some entries, and where the next ones begin. */
export const EntryPage = named(
  "EntryPage",
  z.looseObject({
    entries: z.array(PlacedEntry),
    next: z.int().optional().describe("to be given as `after`; absent when these are the last"),
  }),
);
