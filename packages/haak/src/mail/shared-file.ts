import { type BigIntStats, constants, statSync } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode, errorMessage } from "@reins/kit";

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDONLY, O_RDWR } = constants;
const NEWLINE = 0x0a;
/** How much of the end is read to find the last line. */
const TAIL_BYTES = 64 << 10;
const ATTEMPTS = 5;
/** How often, and how long, an unfinished line is waited for before it counts as abandoned. */
const MAX_CHECKS = 50;
const PAUSE_MS = 20;

export type SharedFileErrorCode =
  /** The text is not valid. */
  | "invalid"
  /** The text is too long. */
  | "too_large"
  /** The file has reached its largest size. */
  | "full"
  /** The path is not a plain file, or cannot be opened. */
  | "unsafe_file"
  /** The disk did not take the line, or another program removed it. */
  | "not_written";

/** An error of the mailbox or the board. */
export class SharedFileError extends Error {
  override readonly name = "SharedFileError";
  readonly code: SharedFileErrorCode;

  constructor(code: SharedFileErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export interface SharedFileOptions<Content> {
  readonly path: string;
  /** The content of an absent file. */
  readonly empty: Content;
  /** Reads the content of the open file. */
  readonly parse: (file: FileHandle, size: number) => Promise<Content>;
  /** The largest size that appending makes. */
  readonly maxBytes: number;
  /** Whether a last line without a newline is complete; if not, its writer gets a moment to finish it. */
  readonly isWhole: (line: string) => boolean;
  /** Waits before an unfinished line is checked again. */
  readonly pause?: () => Promise<unknown>;
}

/**
 * A file of lines that other programs append to without a lock. Appends a line by a single write, which the system does
 * not interleave; then checks that the line is there, and retries if a program that rewrote the file lost it. Never
 * rewrites lines of others.
 */
export class SharedFile<Content> {
  readonly path: string;
  readonly #options: SharedFileOptions<Content>;
  #cached: { readonly stamp: string; readonly content: Promise<Content> } | undefined;

  constructor(options: SharedFileOptions<Content>) {
    this.path = options.path;
    this.#options = options;
  }

  /** The content, cached until the file changes. */
  async read(): Promise<Content> {
    const stat = this.#stat();
    if (!stat) return this.#options.empty;
    return this.#cached?.stamp === stampOf(stat) ? this.#cached.content : this.#reload();
  }

  /** Appends a line, durably. */
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

  /** Synchronous, because it is called in every turn. */
  #stat(): BigIntStats | undefined {
    try {
      return statSync(this.path, { bigint: true, throwIfNoEntry: false });
    } catch (error) {
      throw notOpened(this.path, error);
    }
  }

  async #reload(): Promise<Content> {
    const file = await this.#openToRead();
    if (!file) return this.#options.empty;
    try {
      const stat = await file.stat({ bigint: true });
      const stamp = stampOf(stat);
      if (this.#cached?.stamp !== stamp)
        this.#cached = { stamp, content: this.#options.parse(file, Number(stat.size)) };
      return await this.#cached.content;
    } catch (error) {
      this.#cached = undefined;
      throw error;
    } finally {
      await file.close();
    }
  }

  /** Opens the file to read; `undefined` if there is none. */
  async #openToRead(): Promise<FileHandle | undefined> {
    try {
      return await openPlain(this.path, O_RDONLY);
    } catch (error) {
      if (error instanceof SharedFileError && errorCode(error.cause) === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Writes the line. Returns the size of the file before. */
  async #write(file: FileHandle, line: string): Promise<number> {
    const end = await this.#end(file);
    const bytes = Buffer.from(`${end.unfinished ? "\n" : ""}${line}\n`);
    if (end.size + bytes.length > this.#options.maxBytes) throw this.#full();
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
    const most = `${this.#options.maxBytes >> 20} MiB`;
    return new SharedFileError(
      "full",
      `${this.path} may not grow beyond ${most}; move its old lines elsewhere`,
    );
  }

  /** Finds the end of the file. Waits while another program is writing a line. */
  async #end(file: FileHandle): Promise<{ size: number; unfinished: boolean }> {
    const { isWhole, pause = () => sleep(PAUSE_MS) } = this.#options;
    for (let checks = 1; ; checks += 1) {
      const { size } = await file.stat();
      const tail = await readRange(file, Math.max(0, size - TAIL_BYTES), size);
      const last = tail.subarray(tail.lastIndexOf(NEWLINE) + 1);
      if (last.length === 0) return { size, unfinished: false };
      if (checks >= MAX_CHECKS || isWhole(last.toString())) return { size, unfinished: true };
      await pause();
    }
  }

  /** Whether the file at the path has the line now, on a line of its own. */
  async #holds(written: FileHandle, from: number, line: string): Promise<boolean> {
    const file = await this.#openToRead();
    if (!file) return false;
    try {
      const [ours, now] = await Promise.all([written.stat(), file.stat()]);
      const start = ours.ino === now.ino && ours.dev === now.dev ? Math.min(from, now.size) : 0;
      return `\n${await readRange(file, start, now.size)}`.includes(`\n${line}\n`);
    } finally {
      await file.close();
    }
  }
}

/** Identifies a file and its content. */
function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join();
}

/** Reads a range of bytes, or fewer if the file has shrunk. */
export async function readRange(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.alloc(to - from);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

/** Opens a plain file. `O_NONBLOCK`, because opening a pipe without a writer would block. */
async function openPlain(path: string, flags: number): Promise<FileHandle> {
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
  return new SharedFileError(
    "unsafe_file",
    `${path} cannot be opened; see what is there (${errorMessage(cause)})`,
    { cause },
  );
}
