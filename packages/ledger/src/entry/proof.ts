import { z } from "zod";

/** Somebody's signature over an entry, and what was checked before it was given. */
export const Attestation = z.strictObject({
  type: z.literal("attestation"),
  key_id: z.string(),
  rules_checked: z.array(z.string()),
  predicate_results: z.array(z.boolean()),
  signature: z.base64(),
});
export type Attestation = z.infer<typeof Attestation>;

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
