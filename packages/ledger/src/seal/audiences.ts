import { z } from "zod";
import { type Ports, portsWith } from "../disk.ts";
import type { Envelope } from "../entry.ts";
import { keyRecordOf, newKey } from "../keys/key-folder.ts";
import { PrivateFolder, type SecretKind, type Update } from "../keys/private-folder.ts";
import { KEY_LENGTH } from "../keys/signer.ts";
import { LedgerError } from "../ledger-error.ts";
import {
  type AudienceKey,
  openWith,
  type Recipient,
  type SealedContext,
  sealFor,
  sealingKeyOf,
} from "./seal.ts";

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
    "a membership names an epoch that does not exist",
  );

/** An audience, as it is kept. */
type Audience = z.infer<typeof schema>;

/** The files that hold an {@link Audience}. */
const audienceFile: SecretKind<Audience> = {
  prefix: "audience",
  schema,
  nameOf: ({ audience_label }) => audience_label,
};

/** An audience without members. */
function newAudience(audience_label: string, raw: Uint8Array, now: Date): Audience {
  const epochs = [newKey("X25519", raw, now)];
  return { format: "reins-audience/1", audience_label, epochs, memberships: [] };
}

/** The audience in its next epoch. */
function nextEpoch(audience: Audience, raw: Uint8Array, now: Date): Audience {
  return { ...audience, epochs: [...audience.epochs, newKey("X25519", raw, now)] };
}

/** Whether a name is a member now. */
function isMember({ memberships }: Audience, member: string): boolean {
  return memberships.some((membership) => membership.member === member && membership.until === null);
}

/** The audience with a new member from an epoch on. */
function withMember(audience: Audience, member: string, from: number): Audience {
  const others = audience.memberships.filter((other) => other.member !== member || other.until !== null);
  return { ...audience, memberships: [...others, { member, from, until: null }] };
}

/** The audience without a member in its present epoch; the past ones stay theirs only if they keep their past. */
function withoutMember(audience: Audience, member: string, past: boolean): Audience {
  const present = audience.epochs.length - 1;
  const memberships = audience.memberships.flatMap((membership) => {
    if (membership.member !== member) return [membership];
    return past ? [{ ...membership, until: membership.until ?? present }] : [];
  });
  return { ...audience, memberships };
}

/** The keys of the epochs of a member, the oldest first. */
function keysOf(audience: Audience, member: string): readonly AudienceKey[] {
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

/** How a member joins or leaves. */
interface MembershipOptions {
  /**
   * Whether the past is theirs too: for who joins, what was sealed before (by default not); for who leaves, what was
   * sealed while they were a member (by default yes).
   */
  readonly past?: boolean;
}

/** An audience as others may see it. */
interface AudienceDescription {
  readonly label: string;
  /** The ids of its keys, one for each epoch, the present one last. */
  readonly keyIds: readonly string[];
  readonly members: readonly string[];
}

/**
 * Audiences that payloads are sealed for, kept in the key folder. An audience has a new key for each epoch, and an
 * epoch ends when a member leaves or joins: who left cannot read later entries, and who joined cannot read earlier ones. Who
 * may sees what was sealed in the epochs of their membership.
 */
export class Audiences {
  readonly #folder: PrivateFolder<Audience>;
  readonly #ports: Ports;

  constructor(path: string, ports: Partial<Ports> = {}) {
    this.#ports = portsWith(ports);
    this.#folder = new PrivateFolder(path, audienceFile, this.#ports);
  }

  /** Adds a member; the first one creates the audience. A present member stays one, and may gain the past. */
  async admit(label: string, member: string, { past = false }: MembershipOptions = {}): Promise<void> {
    if (member === "") throw new LedgerError("invalid", "a member has a name that is not empty");
    return this.#folder.update(label, (present) => {
      if (!present) return changed(withMember(newAudience(label, ...this.#newKey()), member, 0));
      if (past) return changed(withMember(present, member, 0));
      if (isMember(present, member)) return unchanged;
      const next = nextEpoch(present, ...this.#newKey());
      return changed(withMember(next, member, next.epochs.length - 1));
    });
  }

  /** Ends a membership. What is sealed from now on is sealed with a key that who left never had. */
  async depart(label: string, member: string, { past = true }: MembershipOptions = {}): Promise<void> {
    return this.#folder.update(label, (present) => {
      if (!present?.memberships.some((membership) => membership.member === member))
        throw new LedgerError("not_found", `${member} is not a member of the audience ${label}`);
      const next = isMember(present, member) ? nextEpoch(present, ...this.#newKey()) : present;
      return changed(withoutMember(next, member, past));
    });
  }

  /** Whom to seal for at present, as plain data for {@link sealFor}, in whichever thread. */
  async recipient(label: string): Promise<Recipient> {
    const { epochs } = await this.#audience(label);
    const present = epochs.at(-1);
    if (!present) throw new LedgerError("corrupt", `the audience ${label} has no key`);
    const publicKey = new Uint8Array(Buffer.from(present.public_key, "base64"));
    return { label, keyId: present.key_id, publicKey };
  }

  /** Seals a payload for the present members of an audience. */
  async seal(payload: unknown, label: string, context: SealedContext): Promise<Envelope> {
    return sealFor(await this.recipient(label), payload, context, this.#ports.randomBytes);
  }

  /** Opens an envelope of the given entry on behalf of a member. */
  async open(envelope: Envelope, context: SealedContext, member: string): Promise<unknown> {
    const keyId = sealingKeyOf(envelope);
    const label = envelope.audience_label;
    const key = (await this.keysOf(label, member)).find((candidate) => candidate.keyId === keyId);
    if (key) return openWith(key, envelope, context);
    throw new LedgerError(
      "unreadable",
      `sealed for the audience ${label} with key ${keyId}, which ${member} does not hold`,
    );
  }

  /** The keys a member holds, for opening envelopes elsewhere; none for who never was a member. */
  async keysOf(label: string, member: string): Promise<readonly AudienceKey[]> {
    const audience = await this.#folder.read(label);
    return audience ? keysOf(audience, member) : [];
  }

  /** Every audience, by label. */
  async list(): Promise<readonly AudienceDescription[]> {
    const all = [...(await this.#folder.readAll())];
    return all
      .sort((left, right) => (left.audience_label < right.audience_label ? -1 : 1))
      .map(({ audience_label, epochs, memberships }) => ({
        label: audience_label,
        keyIds: epochs.map(({ key_id }) => key_id),
        members: memberships.filter(({ until }) => until === null).map(({ member }) => member),
      }));
  }

  async #audience(label: string): Promise<Audience> {
    const audience = await this.#folder.read(label);
    if (audience) return audience;
    throw new LedgerError("not_found", `there is no audience ${label}; its first member makes it`);
  }

  #newKey(): [raw: Uint8Array, now: Date] {
    return [this.#ports.randomBytes(KEY_LENGTH), this.#ports.now()];
  }
}

const unchanged: Update<Audience, void> = { result: undefined };

function changed(content: Audience): Update<Audience, void> {
  return { content, result: undefined };
}
