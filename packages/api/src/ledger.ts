import { z } from "zod";
import { operation } from "./operation.ts";
import {
  EntryId,
  Hash,
  ListOrder,
  Moment,
  Name,
  named,
  PageLimit,
  Position,
  RequestMoment,
} from "./schema.ts";

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
const RecordedEntry = named(
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

const hashes = z.array(z.string().describe("32 bytes, base64"));
const note = z.string().describe("a signed note: origin, size, root and signature");

/** Proves that an entry is in a ledger, without the ledger: the input of `verifyProof` in packages/verify. */
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

/** The ledger's newest checkpoint, which covers every entry at the time of the request. */
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

/** Proves that the newest checkpoint extends an earlier one: the input of `verifyConsistency` in packages/verify. */
const ConsistencyProof = named(
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
const LedgerKey = named(
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

const LedgerKeys = named(
  "LedgerKeys",
  z.looseObject({ origin: z.string(), log_key: z.string(), keys: z.array(LedgerKey) }),
);

const name = Name.optional();
const moment = RequestMoment.optional();

const filter = {
  session: name.describe(
    "the key of a session, as `/v1/sessions` has it; reins:system for what belongs to none",
  ),
  quality: LedgerQuality.optional(),
  agent: name.describe("who acted: an agent, a person or reins:system"),
  tag: name,
};

/** Operations on the ledger. Admins see the entries of their tenant's sessions, the operator all. */
export const ledgerOperations = {
  listEntries: operation({
    id: "list_entries",
    method: "GET",
    path: "/v1/ledger",
    summary: "Lists entries, by default the newest first.",
    audience: "admin",
    query: z.strictObject({
      ...filter,
      since: moment.describe("not before, RFC 3339"),
      until: moment.describe("before, RFC 3339"),
      order: ListOrder.optional(),
      limit: PageLimit,
      after: Position.optional().describe("`next` of the page before"),
    }),
    answer: EntryPage,
    problems: ["not_found"],
  }),
  streamEntries: operation({
    id: "stream_entries",
    method: "GET",
    path: "/v1/ledger/stream",
    summary: "Streams entries as they are written, from now on or after `Last-Event-ID`, which is a `seq`.",
    audience: "admin",
    query: z.strictObject(filter),
    answer: PlacedEntry,
    events: "entry",
    problems: ["not_found", "not_acceptable"],
  }),
  getEntry: operation({
    id: "get_entry",
    method: "GET",
    path: "/v1/ledger/entries/{cid}",
    summary: "Returns one entry by its content id.",
    audience: "admin",
    params: z.strictObject({ cid: EntryId }),
    answer: PlacedEntry,
    problems: ["not_found"],
  }),
  proveEntry: operation({
    id: "prove_entry",
    method: "GET",
    path: "/v1/ledger/entries/{cid}/proof",
    summary:
      "Proves that an entry is in the ledger, against its newest checkpoint; the proof can be checked without the ledger.",
    audience: "admin",
    params: z.strictObject({ cid: EntryId }),
    answer: EntryProof,
    problems: ["not_found"],
  }),
  getCheckpoint: operation({
    id: "get_checkpoint",
    method: "GET",
    path: "/v1/ledger/checkpoint",
    summary:
      "Returns the newest checkpoint; creates one if entries are not covered yet. A checkpoint that was kept shows later changes.",
    audience: "person",
    answer: LedgerCheckpoint,
  }),
  proveConsistency: operation({
    id: "prove_consistency",
    method: "GET",
    path: "/v1/ledger/consistency",
    summary: "Proves that the ledger only added entries since a checkpoint of a size.",
    audience: "person",
    query: z.strictObject({ from: Position.describe("the size of a checkpoint that was seen") }),
    answer: ConsistencyProof,
    problems: ["conflict"],
  }),
  listLedgerKeys: operation({
    id: "list_ledger_keys",
    method: "GET",
    path: "/v1/ledger/keys",
    summary: "Lists the public keys that sign entries and checkpoints.",
    audience: "person",
    answer: LedgerKeys,
  }),
  exportLedger: operation({
    id: "export_ledger",
    method: "GET",
    path: "/v1/ledger/export",
    summary:
      "Exports the whole ledger up to its newest checkpoint as JSON Lines; see docs/ledger-format.md. Requires an admin of the default tenant.",
    audience: "server",
    query: z.strictObject({
      private: z
        .enum(["true", "false"])
        .optional()
        .describe("whether to include private content; by default not"),
    }),
    answer: z.string(),
    media: "application/x-ndjson",
  }),
} as const;
