import { type KeyObject, sign } from "node:crypto";
import type { Clock } from "@reins/kit";
import { z } from "zod";
import { assertPlainJson, blake3Hex, canonicalJson, quickCanonicalJson, recordedJson } from "./canonical.ts";
import { LedgerError } from "./ledger-error.ts";

/** What an entry records. */
export const EntryQuality = z.enum([
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
export type EntryQuality = z.infer<typeof EntryQuality>;

const ATTESTED: ReadonlySet<EntryQuality> = new Set(["turn", "approval", "policy_change", "kill"]);

/** Whether entries of this quality are signed by their actor. */
export function isAttested(quality: EntryQuality): boolean {
  return ATTESTED.has(quality);
}

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
export const Envelope = z.strictObject({
  audience_label: z.string(),
  encrypted_key: z.string(),
  ciphertext: z.string(),
});
export type Envelope = z.infer<typeof Envelope>;

/** The payload of an entry whose content is in its envelope. */
export const SEALED_PAYLOAD = Object.freeze({ sealed: true });

/** A content id: BLAKE3 of the entry, 64 hexadecimal digits. */
export const Cid = z.string().regex(/^[0-9a-f]{64}$/, "a content id is 64 lower-case hexadecimal digits");
export type Cid = z.infer<typeof Cid>;

/** The chain of entries that belong to no session, and the actor that makes them. */
export const SYSTEM = "reins:system";

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

/** The largest entry, in bytes of its canonical form. */
const MAX_ENTRY_BYTES = 1024 * 1024;

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

/** The canonical form of an entry's content. */
export function bodyOf(content: EntryContent): string {
  const body = canonicalJson(content);
  assertSize(body);
  return body;
}

/** Refuses an entry beyond the bound, given all the text it will have. */
function assertSize(...texts: readonly string[]): void {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  // No character takes more than three bytes for each of its UTF-16 units.
  if (length * 3 <= MAX_ENTRY_BYTES) return;
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes <= MAX_ENTRY_BYTES) return;
  throw new LedgerError("invalid", `an entry is at most ${MAX_ENTRY_BYTES} bytes long, this one is ${bytes}`);
}

/** The content id that belongs to a canonical body. */
export function cidOf(body: string): Cid {
  return blake3Hex(body);
}

/** The entry of a body that was written by us. */
export function entryOf(cid: Cid, body: string): LedgerEntry {
  const content: EntryContent = JSON.parse(body);
  return { cid, ...content };
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
  /** Who alone may read the payload; it is sealed for them. */
  readonly audience?: string;
  /** Which parts of the payload are kept beside the ledger, where they can be erased. */
  readonly isPrivate?: (value: unknown, path: readonly (string | number)[]) => boolean;
  /** What was checked, for entries that their actor signs. */
  readonly rules_checked?: readonly string[];
  readonly predicate_results?: readonly boolean[];
  readonly proof?: ZkStark;
}

/** The content of a draft, stamped and checked but for its payload, which is when it is written. */
export function contentOf(draft: Draft, clock: Clock): ParentlessContent {
  const entity_id = draft.entity_id ?? SYSTEM;
  const content = {
    entity_id,
    target: draft.target,
    quality: draft.quality,
    timestamp: clock.now().toISOString(),
    source: draft.source ?? entity_id,
    actor: draft.actor,
    tags: [...(draft.tags ?? [])],
    payload: draft.payload,
    // The actor signs it, which replaces any other proof.
    proof: isAttested(draft.quality) ? null : (draft.proof ?? null),
    envelope: null,
  };
  checkTexts(content);
  draft.rules_checked?.forEach(checkText);
  if (draft.rules_checked?.length !== draft.predicate_results?.length) {
    throw new LedgerError("invalid", "every rule that was checked has one result");
  }
  return content;
}

const QUALITIES: ReadonlySet<string> = new Set(EntryQuality.options);

/** What the schema of an entry says of its texts, checked without it: this runs for every entry there is. */
function checkTexts({ entity_id, actor, target, source, tags, quality }: ParentlessContent): void {
  if (!QUALITIES.has(quality)) throw new LedgerError("invalid", `there is no quality "${quality}"`);
  if (entity_id === "" || actor === "")
    throw new LedgerError("invalid", "an entry names its session and its actor");
  checkText(entity_id);
  checkText(actor);
  checkText(target);
  checkText(source);
  tags.forEach(checkText);
}

function checkText(text: unknown): void {
  if (typeof text !== "string") throw new LedgerError("invalid", `${typeof text} where a text is expected`);
  if (!text.isWellFormed()) throw new LedgerError("invalid", "a text holds half of a surrogate pair");
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
  /** Who signs it, if anybody. */
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

const NO_PARENTS = '"parents":[]';
const NO_PROOF = '"proof":null';

/** Prepares an entry whose texts have been checked; all of it has to be plain JSON. */
export function prepare(content: ParentlessContent): PreparedEntry {
  const { actor, entity_id, envelope, payload, proof, quality, source, tags, target, timestamp } = content;
  // In the order of their names, so that sorting finds nothing to do.
  const entry: EntryContent = {
    actor,
    entity_id,
    envelope,
    parents: [],
    payload: recordedJson(payload),
    proof,
    quality,
    source,
    tags,
    target,
    timestamp,
  };
  const quick = quickCanonicalJson(entry);
  if (quick === undefined) assertPlainJson(entry, "entry");
  const body = quick ?? canonicalJson(entry);
  assertSize(body, ROOM_TO_COME);
  return { entity_id, quality, actor, timestamp, body, attestation: undefined };
}

/** The same entry, to be signed when its parents are known. */
export function attested(entry: PreparedEntry, attestation: AttestationOrder): PreparedEntry {
  const { rules_checked, predicate_results } = attestation;
  assertSize(entry.body, ROOM_TO_COME, JSON.stringify([rules_checked, predicate_results]));
  return { ...entry, attestation };
}

/**
 * The canonical form of an entry once its parents are known. The places are found by names in quotes, which no text can
 * hold; none of the members before `parents`, or after `proof`, has one of these names inside.
 */
export function bodyWith(
  { body, attestation }: Pick<PreparedEntry, "body" | "attestation">,
  parents: readonly Cid[],
): string {
  const unsigned = body.replace(NO_PARENTS, `"parents":${JSON.stringify(parents)}`);
  if (!attestation) return unsigned;
  const proof = unsigned.lastIndexOf(NO_PROOF);
  const [before, after] = [unsigned.slice(0, proof), unsigned.slice(proof + NO_PROOF.length)];
  return `${before}"proof":${attest(attestation, unsigned)}${after}`;
}

function attest(order: AttestationOrder, unsigned: string): string {
  const { key_id, privateKey, rules_checked, predicate_results } = order;
  const signature = sign(null, Buffer.from(unsigned), privateKey).toString("base64");
  return canonicalJson({ key_id, predicate_results, rules_checked, signature, type: "attestation" });
}

/** As long as the longest parents and attestation get, but for the names of rules. */
const ROOM_TO_COME = "x".repeat(1_024);
