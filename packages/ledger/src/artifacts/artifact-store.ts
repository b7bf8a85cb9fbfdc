import { join, resolve } from "node:path";
import { blake3Hex } from "../canonical.ts";
import { type Ports, portsWith, sweepLeftovers, writeWhole } from "../disk.ts";
import { LedgerError } from "../ledger-error.ts";

const SALT_LENGTH = 32;
const DIGEST = /^[0-9a-f]{64}$/;
const SHARD = /^[0-9a-f]{2}$/;
const SWEEP_INTERVAL = 60 * 60 * 1000;

/** The folder in which content is written before it is renamed; its name cannot be that of a shard. */
const STAGING = "incoming";

/** The largest content, in bytes. */
export const MAX_ARTIFACT_SIZE = 64 * 1024 * 1024;

/** What stands for content in an entry. */
export interface ArtifactReference {
  /** BLAKE3 of salt and content, 64 hexadecimal digits. */
  readonly digest: string;
  /** The length of the content in bytes. */
  readonly size: number;
}

/**
 * Private content beside the ledger, by salted digest. The salt prevents guessing content by its digest, and
 * goes with the content when that is erased.
 */
export class ArtifactStore {
  readonly #path: string;
  readonly #ports: Ports;
  readonly #made = new Set<string>();
  #nextSweep = 0;

  constructor(path: string, ports: Partial<Ports> = {}) {
    this.#path = resolve(path);
    this.#ports = portsWith(ports);
  }

  /**
   * Keeps content; settles when it is on the disk. The same content kept twice has two digests. Nothing is written before
   * `announce` has settled, which is called with the digest.
   */
  async put(content: Uint8Array, announce?: (digest: string) => Promise<void>): Promise<ArtifactReference> {
    assertSize(content.length);
    const bytes = Buffer.concat([this.#ports.randomBytes(SALT_LENGTH), content]);
    const digest = blake3Hex(bytes);
    await announce?.(digest);
    await this.writeRaw(digest, bytes);
    return { digest, size: content.length };
  }

  /** The content; `undefined` when it was erased or never was here. */
  async get(digest: string): Promise<Uint8Array | undefined> {
    return (await this.readRaw(digest))?.subarray(SALT_LENGTH);
  }

  /** Salt and content, as an export carries them. */
  async readRaw(digest: string): Promise<Uint8Array | undefined> {
    const path = this.#fileOf(digest);
    const found = await this.#ports.disk.read(path, SALT_LENGTH + MAX_ARTIFACT_SIZE);
    if (found) assertBelongs(digest, found.bytes);
    return found?.bytes;
  }

  /** Keeps salt and content that came from an export. */
  async writeRaw(digest: string, bytes: Uint8Array): Promise<void> {
    const path = this.#fileOf(digest);
    assertSize(bytes.length - SALT_LENGTH);
    assertBelongs(digest, bytes);
    await this.#prepare(digest);
    await writeWhole(this.#ports, join(this.#path, STAGING), path, bytes);
  }

  /** Removes content for good; settles when it is gone from the disk. Whether it was there. */
  async erase(digest: string): Promise<boolean> {
    const wasThere = await this.#ports.disk.remove(this.#fileOf(digest));
    if (wasThere) await this.#ports.disk.sync(this.#folderOf(digest));
    return wasThere;
  }

  /** Whether content is there; it is not read. */
  async has(digest: string): Promise<boolean> {
    return this.#ports.disk.has(this.#fileOf(digest));
  }

  /** The digests of everything that is there, sorted. */
  async *list(): AsyncGenerator<string, void, undefined> {
    for (const folder of await this.#ports.disk.names(this.#path)) {
      if (!SHARD.test(folder)) continue;
      for (const digest of await this.#ports.disk.names(join(this.#path, folder)))
        if (DIGEST.test(digest) && digest.startsWith(folder)) yield digest;
    }
  }

  async #prepare(digest: string): Promise<void> {
    const { disk, now } = this.#ports;
    const staging = join(this.#path, STAGING);
    for (const folder of [staging, this.#folderOf(digest)]) {
      if (this.#made.has(folder)) continue;
      await disk.makeFolder(folder);
      this.#made.add(folder);
    }
    const time = now().getTime();
    if (time < this.#nextSweep) return;
    this.#nextSweep = time + SWEEP_INTERVAL;
    await sweepLeftovers(this.#ports, staging);
  }

  #folderOf(digest: string): string {
    return join(this.#path, digest.slice(0, 2));
  }

  #fileOf(digest: string): string {
    if (!DIGEST.test(digest))
      throw new LedgerError("invalid", "the digest of an artifact is 64 lower-case hexadecimal digits");
    return join(this.#folderOf(digest), digest);
  }
}

function assertBelongs(digest: string, bytes: Uint8Array): void {
  if (bytes.length >= SALT_LENGTH && blake3Hex(bytes) === digest) return;
  throw new LedgerError("corrupt", `The artifact ${digest} is not what was kept under that digest.`);
}

function assertSize(size: number): void {
  if (size > MAX_ARTIFACT_SIZE)
    throw new LedgerError(
      "invalid",
      `an artifact is at most ${MAX_ARTIFACT_SIZE} bytes long, this one is ${size}`,
    );
}
