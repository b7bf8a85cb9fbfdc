import { z } from "zod";
import { keyRecordOf, newKey } from "../keys/key-record.ts";
import type { SecretKind } from "../keys/private-folder.ts";
import type { AudienceKey } from "./seal.ts";

const epochNumber = z.int().nonnegative();

const schema = z
  .strictObject({
    format: z.literal("reins-audience/1"),
    audience_label: z.string(),
    /** One key for each epoch, the present one last. Old ones stay, so that what they sealed stays readable. */
    epochs: z.array(keyRecordOf("X25519")).min(1),
    /** Who holds the keys of which epochs: from the first up to, and without, the second. */
    memberships: z.array(
      z.strictObject({ member: z.string(), from: epochNumber, until: epochNumber.nullable() }),
    ),
  })
  .refine(
    ({ epochs, memberships }) =>
      memberships.every(({ from, until }) => from < epochs.length && (until ?? 0) < epochs.length),
    "somebody is a member in an epoch that never was",
  );

/** An audience, as it is kept. */
export type Audience = z.infer<typeof schema>;

/** The files that hold an {@link Audience}. */
export const audienceFile: SecretKind<Audience> = {
  prefix: "audience",
  schema,
  nameOf: ({ audience_label }) => audience_label,
};

/** An audience without members. */
export function newAudience(audience_label: string, raw: Uint8Array, now: Date): Audience {
  const epochs = [newKey("X25519", raw, now)];
  return { format: "reins-audience/1", audience_label, epochs, memberships: [] };
}

/** The audience in its next epoch. */
export function nextEpoch(audience: Audience, raw: Uint8Array, now: Date): Audience {
  return { ...audience, epochs: [...audience.epochs, newKey("X25519", raw, now)] };
}

/** Whether somebody is a member now. */
export function isMember({ memberships }: Audience, member: string): boolean {
  return memberships.some((membership) => membership.member === member && membership.until === null);
}

/** The audience with somebody as a member from an epoch on. */
export function withMember(audience: Audience, member: string, from: number): Audience {
  const others = audience.memberships.filter((other) => other.member !== member || other.until !== null);
  return { ...audience, memberships: [...others, { member, from, until: null }] };
}

/** The audience without somebody in its present epoch, and in the past ones only if they keep their past. */
export function withoutMember(audience: Audience, member: string, past: boolean): Audience {
  const present = audience.epochs.length - 1;
  const memberships = audience.memberships.flatMap((membership) => {
    if (membership.member !== member) return [membership];
    return past ? [{ ...membership, until: membership.until ?? present }] : [];
  });
  return { ...audience, memberships };
}

/** The keys of the epochs in which somebody is or was a member, the oldest first. */
export function keysOf(audience: Audience, member: string): readonly AudienceKey[] {
  const mine = audience.memberships.filter((membership) => membership.member === member);
  const isMine = (epoch: number) =>
    mine.some(({ from, until }) => from <= epoch && (until === null || epoch < until));
  return audience.epochs
    .filter((_, epoch) => isMine(epoch))
    .map((key) => ({
      label: audience.audience_label,
      keyId: key.key_id,
      publicKey: new Uint8Array(Buffer.from(key.public_key, "base64")),
      privateKey: new Uint8Array(Buffer.from(key.private_key, "base64")),
    }));
}
