import { lstat } from "node:fs/promises";
import { sep } from "node:path";
import { type Clock, hasCode, ifExists, LruCache, settlesWithin, systemClock } from "@reins/kit";
import { type Principal, QuotaError, type Quotas } from "@reins/supervisor";
import { reachesAll } from "../governor/session-folders.ts";
import { FileFault } from "./file-fault.ts";
import { bareEntries, type HeldFolder } from "./held-folder.ts";

export interface TenantRoomOptions {
  readonly quotas: Pick<Quotas, "bounds" | "require">;
  readonly clock?: Clock;
  /** The folders of a principal's tenant. */
  readonly rootsOf: (principal: Principal) => Promise<readonly string[]>;
}

/** What one write takes of the room of its tenant. */
export interface TakenRoom {
  /** Takes room for what is about to be written. Throws where there is none. */
  take(bytes: number): Promise<void>;
  /** Gives it back, because nothing was written after all. */
  release(): void;
}

/** What a tenant has in its folders: as measured, and what was written since. */
interface Measured {
  bytes: number;
  /** A folder that could not be measured, though who works in it could fill it. */
  readonly closed?: string | undefined;
  readonly at: number;
}

/** What an entry takes at least, however little is in it. */
export const ENTRY_BYTES = 4_096;
/** How old a measure may be, and how old where it says that there is no room. */
const MEASURE_MS = 10 * 60_000;
const FULL_MS = 5_000;
/** How long a write waits for a measure, and how long where the one before says that there is no room. */
const PATIENCE_MS = 2_000;
const FULL_PATIENCE_MS = 30_000;
/** How often the disk is looked at while something is written. */
const LOOK_BYTES = 1024 * 1024;
/** What callers leave free on a disk: that much, or that part of a small one. */
const RESERVE_BYTES = 1024 ** 3;
const RESERVE_PART = 0.05;
const MOST_TENANTS = 1_000;
/** How much of a path an error shows. */
const MOST_SHOWN = 512;

/**
 * Bounds what the callers of a tenant write: by the quota `file_bytes`, and by what has to stay free on the disk, so that
 * the ledger and other tenants have room. The operator and admins of the default tenant have no bound.
 */
export class TenantRoom {
  readonly #options: TenantRoomOptions;
  readonly #known = new LruCache<string, Measured>({ entries: MOST_TENANTS });
  /** Measures under way, by tenant. */
  readonly #running = new Map<string, Promise<Measured>>();

  constructor(options: TenantRoomOptions) {
    this.#options = options;
  }

  /** Throws where the tenant of a principal has no room, and counts what is about to be taken of it. */
  async require(principal: Principal, bytes = 0): Promise<void> {
    await this.#reserve(principal, bytes);
  }

  /** Begins a write into a folder. */
  begin(principal: Principal, folder: Pick<HeldFolder, "space">): TakenRoom {
    if (reachesAll(principal)) return { take: async () => undefined, release: () => undefined };
    let taken = 0;
    let unseen = LOOK_BYTES;
    let measured: Measured | undefined;
    return {
      take: async (bytes) => {
        unseen += bytes;
        if (unseen >= LOOK_BYTES) await expectFree(folder);
        if (unseen >= LOOK_BYTES) unseen = 0;
        measured = await this.#reserve(principal, bytes);
        taken += bytes;
      },
      release: () => {
        if (measured) measured.bytes = Math.max(0, measured.bytes - taken);
        taken = 0;
      },
    };
  }

  /** Counts bytes, if the quota has room for them. */
  async #reserve(principal: Principal, bytes: number): Promise<Measured | undefined> {
    const { quotas } = this.#options;
    if (reachesAll(principal) || !quotas.bounds("file_bytes", principal)) return undefined;
    // One that is full has no room for an empty entry, and one that is not may be filled to the last byte.
    const check = (measured: Measured) => {
      const tenant = measured.bytes + Math.max(0, bytes - 1);
      quotas.require("file_bytes", principal, { principal: 0, tenant });
      if (measured.closed !== undefined)
        throw new FileFault(
          "unavailable",
          `what ${measured.closed} holds cannot be measured: it is closed, or its path is too long; open or remove it`,
        );
    };
    let measured = await this.#measure(principal, MEASURE_MS, PATIENCE_MS);
    try {
      check(measured);
    } catch (error) {
      if (!(error instanceof QuotaError || error instanceof FileFault)) throw error;
      // Some may have been removed.
      measured = await this.#measure(principal, FULL_MS, FULL_PATIENCE_MS);
      check(measured);
    }
    measured.bytes += bytes;
    return measured;
  }

  /** What a tenant has, no older than that, or as it was known before if measuring it takes too long. */
  async #measure(principal: Principal, mostMs: number, patienceMs: number): Promise<Measured> {
    const { clock = systemClock } = this.#options;
    const { tenant } = principal;
    const known = this.#known.get(tenant);
    if (known && Math.abs(clock.now().getTime() - known.at) < mostMs) return known;
    const measuring = this.#running.get(tenant) ?? this.#start(principal);
    if (await settlesWithin(measuring, patienceMs, clock)) return measuring;
    return known ?? { bytes: 0, at: 0 };
  }

  #start(principal: Principal): Promise<Measured> {
    const { clock = systemClock, rootsOf } = this.#options;
    const { tenant } = principal;
    const at = clock.now().getTime();
    const measuring = rootsOf(principal)
      .then(sizeOf)
      .then((size) => {
        const measured = { ...size, at };
        this.#known.set(tenant, measured);
        return measured;
      })
      .finally(() => this.#running.delete(tenant));
    this.#running.set(tenant, measuring);
    // Those who wait get the error; the writes may have gone on without.
    measuring.catch(() => undefined);
    return measuring;
  }
}

/** Throws where a disk has no more free than has to stay. */
export async function expectFree(folder: Pick<HeldFolder, "space">): Promise<void> {
  const { free, total } = await folder.space();
  const reserve = Math.min(RESERVE_BYTES, Math.round(total * RESERVE_PART));
  if (free < reserve)
    throw new FileFault(
      "unavailable",
      `the disk has less than ${reserve} bytes left, which have to stay free`,
    );
}

/** What folders with all that is in them take on the disk; nothing of what links lead to. */
async function sizeOf(roots: readonly string[]): Promise<Omit<Measured, "at">> {
  let bytes = 0;
  let closed: string | undefined;
  const folders = roots
    .filter((root) => !roots.some((other) => root.startsWith(`${other}${sep}`)))
    .map((root) => Buffer.from(root));
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    try {
      for await (const { name, isFolder, isFile } of bareEntries(folder)) {
        const path = Buffer.concat([folder, SEPARATOR, name]);
        if (isFolder) folders.push(path);
        const found = isFile ? await ifExists(lstat(path)) : undefined;
        bytes += Math.max(ENTRY_BYTES, (found?.blocks ?? 0) * 512);
      }
    } catch (error) {
      if (await hides(folder, error)) closed = folder.toString().slice(0, MOST_SHOWN);
    }
  return { bytes, closed };
}

const SEPARATOR = Buffer.from(sep);

/**
 * Whether a folder that could not be read may hold what its tenant put there. One that was removed meanwhile does not, nor
 * one of another user, in which nothing that Reins starts can write.
 */
async function hides(folder: Buffer, error: unknown): Promise<boolean> {
  if (hasCode(error, "ENAMETOOLONG")) return true;
  if (!hasCode(error, "EACCES", "EPERM")) return false;
  const found = await lstat(folder).catch(() => undefined);
  return found?.uid === process.getuid?.();
}
