import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage, replaceFile } from "@reins/kit";
import { readCheckpoint } from "@reins/ledger";
import { CliError, EXIT, systemCode } from "../errors.ts";
import { stateFolder } from "../installation.ts";
import type { Notice } from "../output.ts";

export interface SeenCheckpoint {
  readonly logKey: string;
  readonly note: string;
}

/**
 * The last checkpoint that this user saw in each home, and the largest of each ledger. Stored apart from the homes,
 * so that the rollback of a whole home is noticed.
 */
export class SeenCheckpoints {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  static ofUser(environment: NodeJS.ProcessEnv): SeenCheckpoints {
    return new SeenCheckpoints(join(stateFolder(process.platform, environment), "checkpoints"));
  }

  fileOf(logKey: string): string {
    return join(this.#folder, `${nameOf(logKey)}.note`);
  }

  /** The key of the ledger on the first line, then the checkpoint. */
  fileOfHome(home: string): string {
    return join(this.#folder, "homes", nameOf(home));
  }

  largest(logKey: string): Promise<string | undefined> {
    return readSeen(this.fileOf(logKey));
  }

  async inHome(home: string): Promise<SeenCheckpoint | undefined> {
    const text = await readSeen(this.fileOfHome(home));
    if (text === undefined) return undefined;
    const end = text.indexOf("\n");
    return { logKey: text.slice(0, end), note: text.slice(end + 1) };
  }

  /** Does not overwrite a larger checkpoint that was stored meanwhile. */
  async keep(home: string, { logKey, note }: SeenCheckpoint): Promise<void> {
    const here = await this.inHome(home);
    if (here?.logKey !== logKey || isLarger(note, here.note))
      await replaceFile(this.fileOfHome(home), `${logKey}\n${note}`);
    const largest = await this.largest(logKey);
    if (largest === undefined || isLarger(note, largest)) await replaceFile(this.fileOf(logKey), note);
  }

  async replace(home: string, { logKey, note }: SeenCheckpoint): Promise<void> {
    await replaceFile(this.fileOfHome(home), `${logKey}\n${note}`);
    await replaceFile(this.fileOf(logKey), note);
  }
}

async function readSeen(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw new CliError(`The checkpoints seen before cannot be read: ${errorMessage(error)}`, {
      next: "Check the permissions of the file and the folders above it.",
      exitCode: EXIT.failed,
      cause: error,
    });
  }
}

function isLarger(note: string, other: string): boolean {
  return readCheckpoint(note).size > readCheckpoint(other).size;
}

/** Origins and paths are arbitrary, so files are named by their hash. */
function nameOf(text: string): string {
  return hash("sha256", text, "hex").slice(0, 32);
}

const INTERVAL_MS = 1_000;

interface CheckpointRecorderOptions {
  readonly home: string;
  readonly seen: SeenCheckpoints;
  readonly notice: Notice;
  readonly now?: () => number;
}

/** Stores the checkpoints of a ledger while it is written to, so that the newest is known however the process ends. */
export class CheckpointRecorder {
  readonly #options: CheckpointRecorderOptions;
  readonly #now: () => number;
  #newest: SeenCheckpoint | undefined;
  #timer: NodeJS.Timeout | undefined;
  #keeping: Promise<void> = Promise.resolve();
  #isReported = false;
  #keptAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(options: CheckpointRecorderOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  record(checkpoint: SeenCheckpoint): void {
    if (this.#closed) return;
    this.#newest = checkpoint;
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        this.#keep();
      },
      Math.max(0, this.#keptAt + INTERVAL_MS - this.#now()),
    ).unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#keeping;
  }

  #keep(): void {
    const newest = this.#newest;
    if (!newest) return;
    this.#keptAt = this.#now();
    const { home, seen, notice } = this.#options;
    this.#keeping = this.#keeping
      .then(() => seen.keep(home, newest))
      .then(() => {
        this.#isReported = false;
      })
      .catch((error: unknown) => {
        if (!this.#isReported) notice(`The newest checkpoint cannot be stored: ${errorMessage(error)}`);
        this.#isReported = true;
      });
  }
}
