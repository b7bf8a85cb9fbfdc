import type { FileHandle } from "node:fs/promises";
import { visibleJson } from "@reins/kit";
import { Lines } from "../mcp/wire/lines.ts";
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
    const reading = new MailReading();
    const lines = new Lines(reading, this.#limits.maxLineBytes);
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let position = 0; ; ) {
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      if (position > this.#limits.maxFileBytes) throw this.#tooLarge();
      lines.push(chunk.subarray(0, bytesRead));
    }
    reading.atEnd = true;
    lines.end();
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
  /** Whether what comes now has no newline: somebody may be writing it. */
  atEnd = false;
  readonly #times = new Map<string, number>();

  line(text: string): void {
    const message = readMessage(text);
    if (message) this.messages.push(this.#named(message));
    else if (!this.atEnd)
      this.#fault(`a line that is no message: ${visibleJson(text.slice(0, EXCERPT_LENGTH))}`);
  }

  refused(fault: "too_large" | "invalid_utf8"): void {
    if (!this.atEnd)
      this.#fault(fault === "too_large" ? "a line that is too long" : "a line that is not UTF-8");
  }

  /** Who says the same thing twice has sent two messages. */
  #named(message: Message): Message {
    const times = (this.#times.get(message.id) ?? 0) + 1;
    this.#times.set(message.id, times);
    return times === 1 ? message : { ...message, id: `${message.id}-${times}` };
  }

  #fault(text: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(text);
  }
}
