import { z } from "zod";

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
export const ZkStark = z.strictObject({
  type: z.literal("zk_stark"),
  stark_proof: z.string(),
  public_inputs: z.unknown(),
});
export type ZkStark = z.infer<typeof ZkStark>;

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
