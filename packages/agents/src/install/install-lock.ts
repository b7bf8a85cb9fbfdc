import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode, ifExists } from "@reins/kit";

const HEARTBEAT_MS = 1_000;
const POLL_MS = 200;
// A process id can be taken by an unrelated process after a crash; a heartbeat that stopped settles it.
const STALE_AFTER_MS = 10_000;

/** How a lock is waited for. */
export interface LockOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called once, if there is a wait, with the process that holds the lock. */
  readonly onWait?: ((holder: number) => void) | undefined;
}

/** A lock among all processes of this machine: a file that its holder touches again and again. */
export class InstallLock implements AsyncDisposable {
  readonly #path: string;
  readonly #holder: string;
  readonly #heartbeat: NodeJS.Timeout;

  private constructor(path: string, holder: string) {
    this.#path = path;
    this.#holder = holder;
    this.#heartbeat = setInterval(() => void touch(path), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  /** Waits until the lock is free, and takes it. */
  static async acquire(path: string, { signal, onWait }: LockOptions = {}): Promise<InstallLock> {
    await mkdir(dirname(path), { recursive: true });
    const holder = `${process.pid} ${randomUUID()}`;
    for (let waited = false; !(await create(path, holder)); ) {
      const other = await read(path);
      if (other === undefined) continue;
      if (await isStale(path, other)) {
        await removeStale(path, other);
        continue;
      }
      // Empty for the moment between its creation and its first byte: the holder is known at the next look.
      if (!waited && other !== "") {
        waited = true;
        onWait?.(processOf(other));
      }
      await sleep(POLL_MS, undefined, { signal });
    }
    return new InstallLock(path, holder);
  }

  /** Lets go of the lock, unless it was taken away meanwhile. */
  async release(): Promise<void> {
    clearInterval(this.#heartbeat);
    if ((await read(this.#path)) === this.#holder) await rm(this.#path, { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

async function create(path: string, holder: string): Promise<boolean> {
  try {
    await writeFile(path, holder, { flag: "wx" });
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

function read(path: string): Promise<string | undefined> {
  return ifExists(readFile(path, "utf8"));
}

async function isStale(path: string, holder: string): Promise<boolean> {
  const found = await ifExists(stat(path));
  if (!found) return false;
  return Date.now() - found.mtimeMs > STALE_AFTER_MS || (holder !== "" && !isAlive(processOf(holder)));
}

// Two waiters may find the same stale lock; the slower one must not delete the faster one's new lock. So the file is
// moved aside first, and put back if another process has taken it.
async function removeStale(path: string, holder: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  await ifExists(rename(path, aside));
  const moved = await read(aside);
  if (moved === undefined) return;
  if (moved !== holder) {
    await link(aside, path).catch((error: unknown) => {
      if (!hasCode(error, "EEXIST")) throw error;
    });
  }
  await rm(aside, { force: true });
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  // A lock that was taken away is noticed when it is let go.
  await utimes(path, now, now).catch(() => undefined);
}

function processOf(holder: string): number {
  return Number(holder.split(" ")[0]);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, "EPERM");
  }
}
