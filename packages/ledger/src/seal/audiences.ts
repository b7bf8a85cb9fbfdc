import type { Envelope } from "../entry/envelope.ts";
import { type Ports, portsWith } from "../keys/ports.ts";
import { PrivateFolder, type Update } from "../keys/private-folder.ts";
import { KEY_LENGTH } from "../keys/raw-key.ts";
import { LedgerError } from "../ledger-error.ts";
import {
  type Audience,
  audienceFile,
  isMember,
  keysOf,
  newAudience,
  nextEpoch,
  withMember,
  withoutMember,
} from "./audience.ts";
import { type AudienceKey, openWith, type Recipient, sealFor, sealingKeyOf } from "./seal.ts";
import type { SealedContext } from "./sealed-context.ts";

/** How somebody joins or leaves. */
export interface MembershipOptions {
  /**
   * Whether the past is theirs too: for who joins, what was sealed before (by default not); for who leaves, what was
   * sealed while they were a member (by default yes).
   */
  readonly past?: boolean;
}

/** An audience as others may see it. */
export interface AudienceDescription {
  readonly label: string;
  /** The ids of its keys, one for each epoch, the present one last. */
  readonly keyIds: readonly string[];
  readonly members: readonly string[];
}

/**
 * Audiences that payloads are sealed for, kept in the key folder. An audience has a new key for each epoch, and an
 * epoch ends when somebody leaves or joins, so that who left cannot read on and who joined cannot read back. Who
 * may sees what was sealed in the epochs of their membership.
 */
export class Audiences {
  readonly #folder: PrivateFolder<Audience>;
  readonly #ports: Ports;

  constructor(path: string, ports: Partial<Ports> = {}) {
    this.#ports = portsWith(ports);
    this.#folder = new PrivateFolder(path, audienceFile, this.#ports);
  }

  /** Makes somebody a member; the first one makes the audience. Who is a member stays one, and may gain the past. */
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

  /** Seals a payload for whoever is a member of an audience now. */
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
