import { type FileHandle, open, stat } from "node:fs/promises";
import type { Writable } from "node:stream";
import { type Clock, errorMessage, ifExists, retryAfterMs } from "@reins/kit";
import { expectUsable, type Post, postOverHttp, SIGNATURE_HEADER, sign } from "@reins/supervisor";
import { type AuditCursor, cursorIn, cursorText } from "./records.ts";

/** Why records could not be delivered. They are sent again. */
export class DeliveryError extends Error {
  /** How long the receiver wants to be left alone. */
  readonly retryAfterMs: number | undefined;
  /** Whether fewer records at once may help. */
  readonly isTooLarge: boolean;

  constructor(message: string, { retryAfterMs, isTooLarge = false, cause }: DeliveryFailure = {}) {
    super(message, { cause });
    this.name = "DeliveryError";
    this.retryAfterMs = retryAfterMs;
    this.isTooLarge = isTooLarge;
  }
}

interface DeliveryFailure {
  readonly retryAfterMs?: number | undefined;
  readonly isTooLarge?: boolean;
  readonly cause?: unknown;
}

/** Where audit records go. */
export interface AuditDestination {
  /** Finds the last record that is there, where that can be known. */
  last?(): Promise<AuditCursor | undefined>;
  /** Resolves when the records are safe there; rejects with a {@link DeliveryError} when they may not be. */
  write(lines: readonly string[], last: AuditCursor, signal: AbortSignal): Promise<void>;
}

const NEWLINE = 0x0a;
const TAIL = 64 * 1024;
/** No record is longer: an entry is at most 16 MiB. */
const LONGEST_TAIL = 64 * 1024 * 1024;

/** Appends to a file and waits for the disk. The file is opened for each batch, so that it may be rotated. */
export function fileDestination(path: string): AuditDestination {
  const opened = async <Result>(flags: string, use: (file: FileHandle) => Promise<Result>) => {
    // A pipe would be waited for without end, and no device says what has arrived.
    const found = await ifExists(stat(path)).catch(() => undefined);
    if (found && !found.isFile())
      throw new DeliveryError(`${path} cannot be written: it is no file; name one, or - for standard output`);
    const file = await open(path, flags, 0o600).catch((error: unknown) => {
      throw new DeliveryError(`${path} cannot be written: ${errorMessage(error)}`, { cause: error });
    });
    try {
      return await use(file);
    } finally {
      await file.close();
    }
  };
  return {
    last: () =>
      opened("a+", async (file) => {
        const { size } = await file.stat();
        if (size === 0) return undefined;
        const { line, end } = await lastLine(file, size);
        // A process that ended while it wrote leaves the beginning of a record.
        if (end < size) await file.truncate(end);
        if (line === undefined) return undefined;
        const cursor = cursorIn(line);
        if (!cursor) throw new Error(`${path} does not end with an audit record; choose another file`);
        return cursor;
      }),
    write: (lines) =>
      opened("a", async (file) => {
        const { size } = await file.stat();
        try {
          await file.appendFile(lines.join(""));
          await file.datasync();
        } catch (error) {
          // What was written of the batch comes again with it.
          await file.truncate(size).catch(() => undefined);
          throw new DeliveryError(`${path} cannot be written: ${errorMessage(error)}`, { cause: error });
        }
      }),
  };
}

/** The last whole line of a file, and where it ends. */
async function lastLine(
  file: FileHandle,
  size: number,
): Promise<{ readonly line: string | undefined; readonly end: number }> {
  for (let length = Math.min(size, TAIL); ; length = Math.min(size, length * 4)) {
    const start = size - length;
    const bytes = Buffer.alloc(length);
    await file.read(bytes, 0, length, start);
    const end = bytes.lastIndexOf(NEWLINE);
    const before = end <= 0 ? -1 : bytes.lastIndexOf(NEWLINE, end - 1);
    if (end >= 0 && (before >= 0 || start === 0))
      return { line: bytes.toString("utf8", before + 1, end), end: start + end + 1 };
    if (start === 0) return { line: undefined, end: 0 };
    if (length >= LONGEST_TAIL) throw new Error("the file does not end with an audit record");
  }
}

/** Writes to a stream, such as standard output, as fast as it is read. */
export function streamDestination(stream: Writable): AuditDestination {
  return {
    write: (lines) =>
      new Promise((resolve, reject) => {
        stream.write(lines.join(""), (error) => (error ? reject(error) : resolve()));
      }),
  };
}

export interface AuditWebhook {
  readonly url: string;
  /** Signs what is sent, as for the webhooks of approvals. */
  readonly secret: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

const ATTEMPT_MS = 30_000;
const TOO_LARGE = 413;

/** Posts batches of lines. What the receiver answers with a status from 200 to 299 has arrived; redirects are not followed. */
export function webhookDestination(
  { url, secret, headers }: AuditWebhook,
  clock: Clock,
  post: Post = postOverHttp,
): AuditDestination {
  expectUsable([{ name: "audit", url, secret }]);
  return {
    async write(lines, last, signal) {
      const body = lines.join("");
      const timeout = new AbortController();
      const cancel = clock.after(ATTEMPT_MS, () => timeout.abort(new Error(`no answer in ${ATTEMPT_MS} ms`)));
      try {
        const { status, retryAfter } = await post(url, {
          headers: {
            ...headers,
            "Content-Type": "application/x-ndjson",
            "Reins-Delivery": cursorText(last),
            [SIGNATURE_HEADER]: sign(body, secret, clock.now()),
          },
          body,
          signal: AbortSignal.any([signal, timeout.signal]),
        });
        if (status >= 200 && status < 300) return;
        throw new DeliveryError(`the answer was ${status}`, {
          retryAfterMs: retryAfterMs(retryAfter, clock.now()),
          isTooLarge: status === TOO_LARGE,
        });
      } catch (error) {
        if (error instanceof DeliveryError) throw error;
        throw new DeliveryError(innermost(error), { cause: error });
      } finally {
        cancel();
      }
    },
  };
}

/** The innermost message, which says most: "fetch failed" has a cause. */
function innermost(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? innermost(error.cause) : errorMessage(error);
}
