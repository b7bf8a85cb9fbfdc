import { join, resolve } from "node:path";
import { KeyedQueue } from "@reins/kit";
import { z } from "zod";
import { blake3Hex } from "../canonical.ts";
import { type Ports, portsWith, sweepLeftovers, writeWhole } from "../disk.ts";
import { LedgerError } from "../ledger-error.ts";
import type { Signers } from "./announced-keys.ts";
import { KEY_LENGTH, keyIdOf, privateKeyFrom, publicBytesOf, type Signer, signerFrom } from "./signer.ts";

/** One update of a folder at a time, for all that open it. */
const folders = new KeyedQueue();

const LARGEST_FILE = 16 * 1024 * 1024;
const WRITABLE_BY_OTHERS = 0o022;
const REACHABLE_BY_OTHERS = 0o077;

/** A kind of secret file. */
interface SecretKind<Content> {
  /** Begins the names of the files, so that several kinds can share a folder. */
  readonly prefix: string;
  readonly schema: z.ZodType<Content>;
  /** Whose file it is. Names are arbitrary, so a file is called by the hash of its name and has to hold the name. */
  nameOf(content: Content): string;
}

/** What becomes of a file: its new content, or none to leave it as it is, and the result for the caller. */
interface Update<Content, Result> {
  readonly content?: Content;
  readonly result: Result;
}

/**
 * A folder of secrets, one JSON file for each name, for its owner alone. One process at a time may write to it: the
 * one that holds the store.
 */
class PrivateFolder<Content extends object> {
  readonly #path: string;
  readonly #kind: SecretKind<Content>;
  readonly #ports: Ports;

  constructor(path: string, kind: SecretKind<Content>, ports: Ports) {
    this.#path = resolve(path);
    this.#kind = kind;
    this.#ports = ports;
  }

  /** What the file of a name holds. */
  async read(name: string): Promise<Content | undefined> {
    await this.#checkFolder();
    return this.#readFile(this.#fileOf(name));
  }

  /** What every file of this kind holds. */
  async readAll(): Promise<readonly Content[]> {
    await this.#checkFolder();
    const all: Content[] = [];
    for (const file of await this.#ports.disk.names(this.#path)) {
      if (!file.startsWith(`${this.#kind.prefix}-`) || !file.endsWith(".json")) continue;
      const content = await this.#readFile(file);
      if (content !== undefined) all.push(content);
    }
    return all;
  }

  /** Replaces the file of a name atomically by what `next` makes of it; no other job changes it meanwhile. */
  update<Result>(
    name: string,
    next: (content: Content | undefined) => Update<Content, Result>,
  ): Promise<Result> {
    return folders.run(this.#path, async () => {
      const { content, result } = next(await this.read(name));
      if (content !== undefined) await this.#write(this.#fileOf(name), content);
      return result;
    });
  }

  async #write(file: string, content: Content): Promise<void> {
    await this.#ports.disk.makeFolder(this.#path);
    await sweepLeftovers(this.#ports, this.#path);
    const text = `${JSON.stringify(content, undefined, 2)}\n`;
    await writeWhole(this.#ports, this.#path, join(this.#path, file), Buffer.from(text));
  }

  async #checkFolder(): Promise<void> {
    const found = await this.#ports.disk.folder(this.#path);
    if (!found) return;
    if (!found.ours) throw notOurs(this.#path);
    if (((found.mode ?? 0) & WRITABLE_BY_OTHERS) === 0) return;
    throw new LedgerError(
      "unreadable",
      `Other users may replace the keys in ${this.#path}. Check that none was replaced, then run: chmod 700 '${this.#path}'`,
    );
  }

  async #readFile(file: string): Promise<Content | undefined> {
    const path = join(this.#path, file);
    const found = await this.#ports.disk.read(path, LARGEST_FILE).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "EACCES" ? notOurs(path) : error;
    });
    if (!found) return undefined;
    if (!found.ours) throw notOurs(path);
    if (((found.mode ?? 0) & REACHABLE_BY_OTHERS) !== 0) {
      throw new LedgerError(
        "unreadable",
        `Users other than its owner may reach the key file ${path}. Run: chmod 600 '${path}', and rotate the key if another user may have read it.`,
      );
    }
    const content = this.#parse(Buffer.from(found.bytes).toString(), path);
    if (this.#fileOf(this.#kind.nameOf(content)) === file) return content;
    throw damaged(path, `It holds what belongs to ${JSON.stringify(this.#kind.nameOf(content))}.`);
  }

  #parse(text: string, path: string): Content {
    try {
      return this.#kind.schema.parse(JSON.parse(text));
    } catch (error) {
      // What a parser says may quote the secret, so only the names of members are passed on.
      const reason = error instanceof z.ZodError ? z.prettifyError(error) : "It is not JSON.";
      throw damaged(path, reason);
    }
  }

  #fileOf(name: string): string {
    if (name === "" || !name.isWellFormed())
      throw new LedgerError("invalid", "the holder of a key has a name that is not empty");
    return `${this.#kind.prefix}-${blake3Hex(name)}.json`;
  }
}

function notOurs(path: string): LedgerError {
  return new LedgerError(
    "unreadable",
    `${path} belongs to another user. Run as that user, or take it over with chown if you trust what it holds.`,
  );
}

function damaged(path: string, reason: string): LedgerError {
  return new LedgerError(
    "corrupt",
    `The key file ${path} is damaged; bring it back from a backup. ${reason}`,
  );
}

/** The holder of the key that signs checkpoints. Others know the ledger by it, so it is never rotated. */
export const LOG_HOLDER = "reins:log";

/** A signing key as others may see it. */
interface KeyDescription {
  readonly keyId: string;
  readonly holder: string;
  /** The raw 32 bytes. */
  readonly publicKey: Uint8Array;
  /** `next` is a key that a rotation has made and not yet put to use. */
  readonly status: "active" | "next" | "retired";
  readonly createdAt: string;
  /** When it stopped signing; `null` unless it did. */
  readonly retiredAt: string | null;
}

/** One rotation of a key at a time. */
const rotations = new KeyedQueue();

/** What a rotation did. */
interface Rotation {
  readonly signer: Signer;
  readonly retiredKeyId: string;
}

/**
 * Signing keys, held by the harness for agents, people and itself, in a folder that only its owner may reach. The file
 * of a holder changes in one step, so a key is never half there. Each call reads the disk.
 */
export class KeyFolder implements Signers {
  readonly #path: string;
  readonly #folder: PrivateFolder<SigningKeys>;
  readonly #ports: Ports;

  constructor(path: string, ports: Partial<Ports> = {}) {
    this.#path = resolve(path);
    this.#ports = portsWith(ports);
    this.#folder = new PrivateFolder(path, signingKeysFile, this.#ports);
  }

  /** The signer of a holder. The first use makes the key, and exactly one caller sees it as `created`. */
  async signer(holder: string): Promise<Signer> {
    const keys = await this.#folder.read(holder);
    if (keys) return signerOf(holder, keys.active, false);
    return this.#folder.update(holder, (present) => {
      if (present) return { result: signerOf(holder, present.active, false) };
      const content = firstSigningKeys(holder, this.#ports.randomBytes(KEY_LENGTH), this.#ports.now());
      return { content, result: signerOf(holder, content.active, true) };
    });
  }

  /**
   * Makes a new key for a holder. `announce` receives it while the old one still signs; when it fails the old key stays, and
   * the next rotation offers the same new one. Of the old key only the public part is kept, so that what it signed can
   * be checked; the disk may hold the bytes of the old file until it needs their room.
   */
  async rotate(holder: string, announce?: (next: Signer) => Promise<void>): Promise<Rotation> {
    if (holder === LOG_HOLDER)
      throw new LedgerError("invalid", "the key of the log stays: every checkpoint is known by it");
    return rotations.run(`${this.#path} rotates ${holder}`, async () => {
      const next = await this.#prepareNext(holder);
      const signer = signerOf(holder, next, true);
      await announce?.(signer);
      return { signer, retiredKeyId: await this.#putToUse(holder, next) };
    });
  }

  logSigner(): Promise<Signer> {
    return this.signer(LOG_HOLDER);
  }

  async retired(): Promise<readonly string[]> {
    const keys = await this.list();
    return keys.filter(({ status }) => status === "retired").map(({ keyId }) => keyId);
  }

  /** Every key there is or was, by holder, the oldest first. */
  async list(): Promise<readonly KeyDescription[]> {
    const all = [...(await this.#folder.readAll())];
    return all.sort((left, right) => (left.holder < right.holder ? -1 : 1)).flatMap(describeKeys);
  }

  #prepareNext(holder: string): Promise<KeyRecord> {
    return this.#folder.update(holder, (present) => {
      if (!present) throw new LedgerError("not_found", `${holder} has no key to rotate`);
      if (present.next) return { result: present.next };
      const next = newKey(this.#ports.randomBytes(KEY_LENGTH), this.#ports.now());
      return { content: { ...present, next }, result: next };
    });
  }

  #putToUse(holder: string, next: KeyRecord): Promise<string> {
    return this.#folder.update(holder, (present) => {
      if (present?.next?.key_id !== next.key_id)
        throw new LedgerError("conflict", `the key of ${holder} was changed by another process meanwhile`);
      const content = rotateSigningKeys(present, next, this.#ports.now());
      return { content, result: present.active.key_id };
    });
  }
}

function signerOf(holder: string, key: KeyRecord, created: boolean): Signer {
  return signerFrom(holder, privateKeyFrom(Buffer.from(key.private_key, "base64")), created);
}

/** All keys of a holder, the oldest first. */
function describeKeys({ holder, active, next, retired }: SigningKeys): readonly KeyDescription[] {
  const all = [
    ...retired.map((key) => ({ ...key, status: "retired" as const })),
    { ...active, status: "active" as const, retired_at: null },
    ...(next ? [{ ...next, status: "next" as const, retired_at: null }] : []),
  ];
  return all.map(({ key_id, public_key, status, created_at, retired_at }) => ({
    keyId: key_id,
    holder,
    publicKey: new Uint8Array(Buffer.from(public_key, "base64")),
    status,
    createdAt: created_at,
    retiredAt: retired_at,
  }));
}

const rawKey = z.base64().refine((text) => Buffer.from(text, "base64").length === KEY_LENGTH, {
  message: `a key is ${KEY_LENGTH} bytes in base64`,
  abort: true,
});

/** The public part of a key, as it is kept. */
const PublicPart = z.strictObject({
  key_id: z.string(),
  public_key: rawKey,
  created_at: z.iso.datetime(),
});

/** A key with its private part, as it is kept: raw bytes in base64. */
type KeyRecord = z.infer<typeof PublicPart> & { private_key: string };

/** A key as it is kept, whose parts belong together. */
const KeyRecord: z.ZodType<KeyRecord> = PublicPart.extend({ private_key: rawKey }).refine((key) => {
  const publicKey = publicBytesOf(privateKeyFrom(Buffer.from(key.private_key, "base64")));
  return isNamedWell(key) && Buffer.from(publicKey).toString("base64") === key.public_key;
}, "the parts of a key do not belong together");

/** Whether a key's id is that of its public part. */
function isNamedWell({ key_id, public_key }: Pick<KeyRecord, "key_id" | "public_key">): boolean {
  return keyIdOf(Buffer.from(public_key, "base64")) === key_id;
}

/** A new key from 32 unpredictable bytes. */
function newKey(raw: Uint8Array, now: Date): KeyRecord {
  const publicKey = publicBytesOf(privateKeyFrom(raw));
  return {
    key_id: keyIdOf(publicKey),
    public_key: Buffer.from(publicKey).toString("base64"),
    created_at: now.toISOString(),
    private_key: Buffer.from(raw).toString("base64"),
  };
}

const RetiredKey = PublicPart.extend({ retired_at: z.iso.datetime() }).refine(
  isNamedWell,
  "a retired key has another's name",
);

const schema = z.strictObject({
  format: z.literal("reins-signing-keys/1"),
  holder: z.string(),
  active: KeyRecord,
  /** The key that a rotation has made and not yet put to use. */
  next: KeyRecord.nullable(),
  retired: z.array(RetiredKey),
});

/** The signing keys of one holder, as they are kept: the one that signs, and what is left of those that did. */
export type SigningKeys = z.infer<typeof schema>;

/** The files that hold {@link SigningKeys}. */
const signingKeysFile: SecretKind<SigningKeys> = {
  prefix: "signing",
  schema,
  nameOf: ({ holder }) => holder,
};

/** A holder's first key. */
function firstSigningKeys(holder: string, seed: Uint8Array, now: Date): SigningKeys {
  const active = newKey(seed, now);
  return { format: "reins-signing-keys/1", holder, active, next: null, retired: [] };
}

/** The keys after a rotation: of the one that was active only the public part is left. */
function rotateSigningKeys(keys: SigningKeys, next: KeyRecord, now: Date): SigningKeys {
  const { private_key: _gone, ...publicPart } = keys.active;
  const retired = [...keys.retired, { ...publicPart, retired_at: now.toISOString() }];
  return { ...keys, active: next, next: null, retired };
}
