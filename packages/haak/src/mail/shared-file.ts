import { type BigIntStats, constants, statSync } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { errorCode } from "@reins/kit";

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDONLY, O_RDWR } = constants;
const NEWLINE = 0x0a;
/** As much of the end as is looked at to find the last line. */
const TAIL_BYTES = 64 << 10;
const ATTEMPTS = 5;
/** How often, and after which pauses, a line that is being written is looked at before it counts as abandoned. */
const LOOKS = 50;
const PAUSE_MS = 20;

/** How to treat a shared file. */
export interface SharedFileOptions {
  readonly path: string;
  /** The largest it becomes through us. */
  readonly maxBytes: number;
  /** Whether a last line that has no newline is whole all the same; if not, its writer is given a moment to end it. */
  readonly isWhole: (line: string) => boolean;
  /** Waits before an unfinished line is looked at again. */
  readonly pause?: () => Promise<unknown>;
}

/**
 * A file of lines to which other programs add at any time, and know of no lock. A line is added by a single write at the
 * end, which the system does not mix with others; then it is looked for, and added again if somebody who rewrote the
 * file lost it. What others wrote is never written again.
 */
export class SharedFile {
  readonly path: string;
  readonly #maxBytes: number;
  readonly #isWhole: (line: string) => boolean;
  readonly #pause: () => Promise<unknown>;

  constructor({ path, maxBytes, isWhole, pause = () => wait(PAUSE_MS) }: SharedFileOptions) {
    this.path = path;
    this.#maxBytes = maxBytes;
    this.#isWhole = isWhole;
    this.#pause = pause;
  }

  /** Adds a line, durably. */
  async append(line: string): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 }).catch((error: unknown) => {
      throw notOpened(this.path, error);
    });
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const file = await openPlain(this.path, O_RDWR | O_APPEND | O_CREAT);
      try {
        const from = await this.#write(file, line);
        if (await this.#holds(file, from, line)) return;
      } finally {
        await file.close();
      }
    }
    throw new SharedFileError("not_written", `others rewrite ${this.path} all the time; try again`);
  }

  /** What tells the file as it is now from any other; `undefined` when it is not there. Looks at it without waiting. */
  stamp(): string | undefined {
    try {
      const stat = statSync(this.path, { bigint: true, throwIfNoEntry: false });
      return stat && stampOf(stat);
    } catch (error) {
      throw notOpened(this.path, error);
    }
  }

  /** Opens it to read; `undefined` when it is not there. */
  async openToRead(): Promise<FileHandle | undefined> {
    try {
      return await openPlain(this.path, O_RDONLY);
    } catch (error) {
      if (error instanceof SharedFileError && errorCode(error.cause) === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Writes the line; gives the size that the file had before. */
  async #write(file: FileHandle, line: string): Promise<number> {
    const end = await this.#end(file);
    const bytes = Buffer.from(`${end.unfinished ? "\n" : ""}${line}\n`);
    if (end.size + bytes.length > this.#maxBytes) throw this.#full();
    try {
      const { bytesWritten } = await file.write(bytes);
      await file.datasync();
      if (bytesWritten === bytes.length) return end.size;
    } catch (cause) {
      throw new SharedFileError("not_written", `${this.path} cannot be written to`, { cause });
    }
    throw new SharedFileError("not_written", `only a part fitted into ${this.path}; make room on the disk`);
  }

  #full(): SharedFileError {
    const most = `${this.#maxBytes >> 20} MiB`;
    return new SharedFileError(
      "full",
      `${this.path} may not grow beyond ${most}; move its old lines elsewhere`,
    );
  }

  /** Where the file ends, once nobody is in the middle of a line. */
  async #end(file: FileHandle): Promise<{ size: number; unfinished: boolean }> {
    for (let looks = 1; ; looks += 1) {
      const { size } = await file.stat();
      const tail = await read(file, Math.max(0, size - TAIL_BYTES), size);
      const last = tail.subarray(tail.lastIndexOf(NEWLINE) + 1);
      if (last.length === 0) return { size, unfinished: false };
      if (looks >= LOOKS || this.#isWhole(last.toString())) return { size, unfinished: true };
      await this.#pause();
    }
  }

  /** Whether the line stands by itself in the file that is there now. */
  async #holds(written: FileHandle, from: number, line: string): Promise<boolean> {
    const file = await this.openToRead();
    if (!file) return false;
    try {
      const [ours, now] = await Promise.all([written.stat(), file.stat()]);
      const start = ours.ino === now.ino && ours.dev === now.dev ? Math.min(from, now.size) : 0;
      return `\n${await read(file, start, now.size)}`.includes(`\n${line}\n`);
    } finally {
      await file.close();
    }
  }
}

/** What tells a file from another, and from what it was before. */
export function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join();
}

/** Opens what must be a plain file. */
async function openPlain(path: string, flags: number): Promise<FileHandle> {
  // Without waiting, because a pipe that nobody writes to would be waited for.
  const file = await open(path, flags | O_NONBLOCK, 0o600).catch((error: unknown) => {
    const isOther = ["EISDIR", "ENXIO"].includes(errorCode(error) ?? "");
    throw isOther ? notPlain(path, error) : notOpened(path, error);
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw notPlain(path);
}

function notPlain(path: string, cause?: unknown): SharedFileError {
  return new SharedFileError("unsafe_file", `${path} has to be a plain file; move away what is there`, {
    cause,
  });
}

function notOpened(path: string, cause: unknown): SharedFileError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SharedFileError("unsafe_file", `${path} cannot be opened; see what is there (${why})`, {
    cause,
  });
}

/** The bytes between two places, or fewer if the file has become shorter. */
export async function read(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.alloc(to - from);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

/** What went wrong with a file that others write to as well. */
export type SharedFileErrorCode =
  /** What was to be written is not what it has to be. */
  | "invalid"
  /** What was to be written is longer than it may be. */
  | "too_large"
  /** The file is as large as it may become. */
  | "full"
  /** There is something else than a plain file in its place, or one that cannot be opened. */
  | "unsafe_file"
  /** The disk did not take it, or others took it away again. */
  | "not_written";

/** An error of the mailbox or the board. */
export class SharedFileError extends Error {
  override readonly name = "SharedFileError";
  readonly code: SharedFileErrorCode;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;

  constructor(code: SharedFileErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.retryable = code === "not_written";
  }
}
