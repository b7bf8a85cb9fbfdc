import { isUtf8 } from "node:buffer";
import type { FileHandle } from "node:fs/promises";
import { visibleJson } from "@reins/kit";
import type { MailLimits } from "./limits.ts";
import { type Message, readMessage } from "./message.ts";
import { SharedFile, stampOf } from "./shared-file.ts";
import { SharedFileError } from "./shared-file-error.ts";

/** What a mailbox holds. */
export interface Mail {
  /** In the order in which they were sent. */
  readonly messages: readonly Message[];
  /** What is wrong with lines that could not be read; the first few of them. */
  readonly faults: readonly string[];
}

const CHUNK_BYTES = 64 << 10;
const NEWLINE = 0x0a;
const MAX_FAULTS = 20;
const EXCERPT_LENGTH = 80;
const NO_MAIL: Mail = { messages: [], faults: [] };

/** The file of a mailbox, which is read again when it has changed. */
export class MailFile {
  readonly #file: SharedFile;
  readonly #limits: MailLimits;
  #seen: { readonly stamp: string; readonly mail: Promise<Mail> } | undefined;

  constructor(path: string, limits: MailLimits) {
    this.#file = new SharedFile({
      path,
      maxBytes: limits.maxFileBytes,
      isWhole: (line) => readMessage(line) !== undefined,
    });
    this.#limits = limits;
  }

  /** Adds a line. */
  append(line: string): Promise<void> {
    return this.#file.append(line);
  }

  /** What is in it now; there is nothing to wait for where it has nothing. */
  read(): Mail | Promise<Mail> {
    const now = this.#file.stamp();
    if (now === undefined) return NO_MAIL;
    return this.#seen?.stamp === now ? this.#seen.mail : this.#readAnew();
  }

  async #readAnew(): Promise<Mail> {
    const file = await this.#file.openToRead();
    if (!file) return NO_MAIL;
    try {
      const stamp = stampOf(await file.stat({ bigint: true }));
      if (this.#seen?.stamp !== stamp) this.#seen = { stamp, mail: this.#readAll(file) };
      return await this.#seen.mail;
    } catch (error) {
      this.#seen = undefined;
      throw error;
    } finally {
      await file.close();
    }
  }

  async #readAll(file: FileHandle): Promise<Mail> {
    const { maxLineBytes, maxFileBytes } = this.#limits;
    const reading = new MailReading(maxLineBytes);
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let rest = Buffer.alloc(0);
    for (let position = 0; ; ) {
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      if (position > maxFileBytes) throw this.#tooLarge();
      const bytes = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
        reading.take(bytes.subarray(start, end));
        start = end + 1;
      }
      // More of a line that is too long is not needed.
      rest = bytes.subarray(start, start + maxLineBytes + 1);
    }
    reading.takeLast(rest);
    return reading;
  }

  #tooLarge(): SharedFileError {
    const most = `${this.#limits.maxFileBytes >> 20} MiB`;
    return new SharedFileError(
      "full",
      `${this.#file.path} is larger than ${most}; move its old lines elsewhere`,
    );
  }
}

/** Takes the lines of a mailbox one by one. */
class MailReading implements Mail {
  readonly messages: Message[] = [];
  readonly faults: string[] = [];
  readonly #maxBytes: number;
  readonly #times = new Map<string, number>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  take(line: Buffer): void {
    const fault = this.#read(line);
    if (fault !== undefined && this.faults.length < MAX_FAULTS) this.faults.push(fault);
  }

  /** Takes what has no newline: another program may be writing it, so that it is no fault. */
  takeLast(line: Buffer): void {
    this.#read(line);
  }

  /** Reads a line; returns what is wrong with it. */
  #read(line: Buffer): string | undefined {
    if (line.length > this.#maxBytes) return "a line that is too long";
    if (!isUtf8(line)) return "a line that is not UTF-8";
    const text = line.toString().trim();
    if (text === "") return undefined;
    const message = readMessage(text);
    if (!message) return `a line that is no message: ${visibleJson(text.slice(0, EXCERPT_LENGTH))}`;
    this.messages.push(this.#named(message));
    return undefined;
  }

  /** Who says the same thing twice has sent two messages. */
  #named(message: Message): Message {
    const times = (this.#times.get(message.id) ?? 0) + 1;
    this.#times.set(message.id, times);
    return times === 1 ? message : { ...message, id: `${message.id}-${times}` };
  }
}
