import type { KeyObject } from "node:crypto";
import type { Change } from "@reins/store";
import { z } from "zod";
import { bodyOf, cidOf, QUALITIES } from "./canonical.ts";
import { LedgerError } from "./ledger-error.ts";
import { assertPlainJson } from "./plain-json.ts";

/** What an entry records. */
export const EntryQuality = z.enum(QUALITIES);
export type EntryQuality = z.infer<typeof EntryQuality>;

/** The actor's signature over an entry, and what was checked before signing. */
const Attestation = z.strictObject({
  type: z.literal("attestation"),
  key_id: z.string(),
  rules_checked: z.array(z.string()),
  predicate_results: z.array(z.boolean()),
  signature: z.base64(),
});

/** A proof of computation; carried for those who can check it. */
const ZkStark = z.strictObject({
  type: z.literal("zk_stark"),
  stark_proof: z.string(),
  public_inputs: z.unknown(),
});
type ZkStark = z.infer<typeof ZkStark>;

/** What vouches for an entry beside the tree. */
export const Proof = z.discriminatedUnion("type", [Attestation, ZkStark]);
export type Proof = z.infer<typeof Proof>;

/** A payload sealed for an audience. */
const Envelope = z.strictObject({
  audience_label: z.string(),
  encrypted_key: z.string(),
  ciphertext: z.string(),
});

/** A content id: BLAKE3 of the entry, 64 hexadecimal digits. */
export const Cid = z.string().regex(/^[0-9a-f]{64}$/, "a content id is 64 lower-case hexadecimal digits");
export type Cid = z.infer<typeof Cid>;

const text = z.string().refine((value) => value.isWellFormed(), "holds half of a surrogate pair");

/** The twelve members of an entry. */
export const LedgerEntry = z.strictObject({
  cid: Cid,
  entity_id: text.min(1),
  target: text,
  quality: EntryQuality,
  timestamp: z
    .string()
    .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, "a time is RFC 3339 in UTC with milliseconds")
    .refine((time) => !Number.isNaN(Date.parse(time)), "there is no such time"),
  source: text,
  actor: text.min(1),
  parents: z.array(Cid),
  tags: z.array(text),
  payload: z.unknown().refine((value): boolean => value !== undefined, "required"),
  proof: Proof.nullable(),
  envelope: Envelope.nullable(),
});
export type LedgerEntry = z.infer<typeof LedgerEntry>;

/** An entry before its content id is known: everything the id is computed from. */
export type EntryContent = Omit<LedgerEntry, "cid">;

/** An entry with the text its content id was computed from. */
interface BuiltEntry {
  readonly entry: LedgerEntry;
  /** The canonical form of everything but the content id. */
  readonly body: string;
}

const Content = LedgerEntry.omit({ cid: true });

/** Makes an entry from its content; the content id is computed, never given. */
export function buildEntry(content: EntryContent): BuiltEntry {
  assertPlainJson(content, "entry");
  const checked = Content.safeParse(content);
  if (!checked.success) throw new LedgerError("invalid", z.prettifyError(checked.error));
  const body = bodyOf(checked.data);
  return { entry: { cid: cidOf(body), ...checked.data }, body };
}

/** What a caller records. The ledger adds time, parents, signature and content id. */
export interface Draft {
  readonly quality: EntryQuality;
  /** Who acted. */
  readonly actor: string;
  /** The session or tool it is about. */
  readonly target: string;
  readonly payload: unknown;
  /** The session it belongs to; without one it is the system's. */
  readonly entity_id?: string;
  /** The session that produced it; by default the one it belongs to. */
  readonly source?: string;
  readonly tags?: readonly string[];
  /** Which parts of the payload are kept beside the ledger, where they can be erased. */
  readonly isPrivate?: (value: unknown, path: readonly (string | number)[]) => boolean;
  /** What was checked, for entries that their actor signs. */
  readonly rules_checked?: readonly string[];
  readonly predicate_results?: readonly boolean[];
  readonly proof?: ZkStark;
}

/**
 * An entry on its way to the writer. Its parents are known only when its turn to be written has come, and an attestation
 * only after them.
 */
export interface PreparedEntry {
  readonly entity_id: string;
  readonly quality: EntryQuality;
  readonly actor: string;
  readonly timestamp: string;
  /** Its canonical form without parents, and without a proof where one has to be made. */
  readonly body: string;
  /** What it is found by before it is indexed. */
  readonly excerpt: string;
  /** Who signs it, if it is signed. */
  readonly attestation: AttestationOrder | undefined;
}

/** What the writer needs to sign an entry. */
export interface AttestationOrder {
  readonly key_id: string;
  readonly privateKey: KeyObject;
  readonly rules_checked: readonly string[];
  readonly predicate_results: readonly boolean[];
}

/** Everything of an entry but its parents. */
export type ParentlessContent = Omit<EntryContent, "parents">;

/** How to record entries. */
export interface RecordOptions<Changes extends readonly Change<unknown>[]> {
  /** Changes of other tables that belong to the same commit. */
  readonly with?: Changes;
  /** Whether it must survive a power cut; by default it must. */
  readonly durable?: boolean;
  /** Whether it may wait for other commits to be written with. */
  readonly relaxed?: boolean;
  /** Whether no caller waits for it: its position is fixed at the end of the current turn of the event loop. */
  readonly later?: boolean;
  /** Called when its position is fixed: what is recorded from then on comes after it. */
  readonly onPlaced?: () => void;
}
