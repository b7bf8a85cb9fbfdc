import { z } from "zod";
import { Envelope } from "./envelope.ts";
import { Proof } from "./proof.ts";
import { EntryQuality } from "./quality.ts";

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
