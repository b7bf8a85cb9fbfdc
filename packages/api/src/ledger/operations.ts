import { z } from "zod";
import { operation } from "../operation.ts";
import { PageLimit } from "../text.ts";
import { EntryPage, LedgerQuality, PlacedEntry } from "./entry.ts";
import { ConsistencyProof, EntryProof, LedgerCheckpoint, LedgerKeys } from "./proof.ts";

const name = z.string().min(1).max(1_024).optional();
const moment = z.iso.datetime({ offset: true }).optional();
const place = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const cid = z.string().regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits");

const filter = {
  session: name.describe(
    "the key of a session, as `/v1/sessions` has it; reins:system for what belongs to none",
  ),
  quality: LedgerQuality.optional(),
  agent: name.describe("who acted: an agent, a person or reins:system"),
  tag: name,
};

/** What can be asked for about the ledger: admins see the entries of their tenant's sessions, the operator all. */
export const ledgerOperations = {
  listEntries: operation({
    id: "list_entries",
    method: "GET",
    path: "/v1/ledger",
    summary: "Entries, the newest first unless asked otherwise.",
    audience: "admin",
    query: z.strictObject({
      ...filter,
      since: moment.describe("not before, RFC 3339"),
      until: moment.describe("before, RFC 3339"),
      order: z.enum(["oldest", "newest"]).optional(),
      limit: PageLimit,
      after: place.optional().describe("`next` of the page before"),
    }),
    answer: EntryPage,
    problems: ["not_found"],
  }),
  streamEntries: operation({
    id: "stream_entries",
    method: "GET",
    path: "/v1/ledger/stream",
    summary: "Entries as they are written, from now on or after `Last-Event-ID`, which is a `seq`.",
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
    summary: "One entry by its content id.",
    audience: "admin",
    params: z.strictObject({ cid }),
    answer: PlacedEntry,
    problems: ["not_found"],
  }),
  proveEntry: operation({
    id: "prove_entry",
    method: "GET",
    path: "/v1/ledger/entries/{cid}/proof",
    summary: "Proves that an entry is in the ledger, against its newest checkpoint, with no ledger at hand.",
    audience: "admin",
    params: z.strictObject({ cid }),
    answer: EntryProof,
    problems: ["not_found"],
  }),
  getCheckpoint: operation({
    id: "get_checkpoint",
    method: "GET",
    path: "/v1/ledger/checkpoint",
    summary:
      "The newest checkpoint, made now if entries are not yet covered. Keep it: it shows what comes later.",
    audience: "person",
    answer: LedgerCheckpoint,
  }),
  proveConsistency: operation({
    id: "prove_consistency",
    method: "GET",
    path: "/v1/ledger/consistency",
    summary: "Proves that the ledger only added entries since a checkpoint of a size.",
    audience: "person",
    query: z.strictObject({ from: place.describe("the size of a checkpoint that was seen") }),
    answer: ConsistencyProof,
    problems: ["conflict"],
  }),
  listLedgerKeys: operation({
    id: "list_ledger_keys",
    method: "GET",
    path: "/v1/ledger/keys",
    summary: "The public keys that sign entries and checkpoints.",
    audience: "person",
    answer: LedgerKeys,
  }),
  exportLedger: operation({
    id: "export_ledger",
    method: "GET",
    path: "/v1/ledger/export",
    summary:
      "The whole ledger up to its newest checkpoint, a line of JSON each, as docs/ledger-format.md has it. Only admins of the default tenant may.",
    audience: "admin",
    query: z.strictObject({
      private: z
        .enum(["true", "false"])
        .optional()
        .describe("whether private content comes along; by default not"),
    }),
    answer: z.string(),
    media: "application/x-ndjson",
  }),
} as const;
