import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { JsonObject } from "@reins/acp";
import { visibleJson } from "@reins/kit";
import { z } from "zod";
import { SharedFile, SharedFileError, stampOf } from "./shared-file.ts";

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

/** One line of `agent-mailbox.jsonl`. Members we do not know stay. */
const MessageLine = z.looseObject({
  to: z.union([z.string(), z.array(z.string())]),
  from: z.string().optional(),
  subject: z.string().optional(),
  body: z.string().optional(),
  timestamp: z.union([z.string(), z.number()]).optional(),
  id: z.union([z.string(), z.number()]).optional(),
  read: z.boolean().optional(),
});

/** A message from one agent to others. Everything in it is a claim of whoever wrote the line. */
export interface Message {
  /** Tells it from every other message of the mailbox, and stays when its line is written anew. */
  readonly id: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly body: string;
  readonly timestamp: string;
  /** Whether its line says that it was read. */
  readonly read: boolean;
  /** The line as it was written. */
  readonly line: JsonObject;
}

/** Reads a line; `undefined` when it is no message. The id is that of the first message that says just this. */
export function readMessage(text: string): Message | undefined {
  const { data } = MessageLine.safeParse(parsed(text));
  if (!data) return undefined;
  const { from = "", subject = "", body = "", timestamp = "", read = false } = data;
  const to = Array.isArray(data.to) ? data.to : [data.to];
  // Not the id of the line alone: whoever guesses one could hide somebody else's message behind it. Nor members such
  // as `read`, which other programs change.
  const said = JSON.stringify([data.id ?? null, from, to, subject, body, timestamp]);
  const id = createHash("sha256").update(said).digest("hex");
  return { id, from, to, subject, body, timestamp: String(timestamp), read, line: data };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A message to be sent. */
export interface OutgoingMessage {
  /** Who sends it, as the harness knows. */
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly body: string;
}

/** The line for a message, unless it says nothing, or too much. */
export function outgoingLine(
  { from, to, subject, body }: OutgoingMessage,
  { id, timestamp }: { readonly id: string; readonly timestamp: string },
  { maxHeaderBytes, maxBodyBytes }: MailLimits,
): string {
  if (from === "" || to === "")
    throw new SharedFileError("invalid", "a message needs a sender and somebody to go to");
  if (body.trim() === "") throw new SharedFileError("invalid", "a message needs a text");
  for (const [name, text] of Object.entries({ from, to, subject })) checkLength(name, text, maxHeaderBytes);
  checkLength("body", body, maxBodyBytes);
  return JSON.stringify({ id, from, to, subject, body, timestamp, read: false });
}

function checkLength(name: string, text: string, maxBytes: number): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return;
  const message = `the ${name} has ${bytes} bytes, and may have ${maxBytes}; put the rest into a file and name it`;
  throw new SharedFileError("too_large", message);
}

/** How much mail there may be. */
export interface MailLimits {
  /** The largest mailbox that is read, and that sending makes. */
  readonly maxFileBytes: number;
  /** The longest line that is read; what is longer is passed over and reported. */
  readonly maxLineBytes: number;
  /** The longest text that can be sent. */
  readonly maxBodyBytes: number;
  /** The longest subject, and the longest name of a sender or receiver, that can be sent. */
  readonly maxHeaderBytes: number;
  /** How many messages are put into one turn; the others stay unread. */
  readonly perTurn: number;
  /** How long all texts of one turn may be together; one message always fits. */
  readonly perTurnBytes: number;
  /** How many characters of a text are put into a turn. Only others can write longer ones. */
  readonly shownCharacters: number;
}

/** As much as an agent can take in, and a newcomer will not notice. */
export const MAIL_LIMITS: MailLimits = {
  maxFileBytes: 32 << 20,
  maxLineBytes: 256 << 10,
  maxBodyBytes: 16 << 10,
  maxHeaderBytes: 1 << 10,
  perTurn: 16,
  perTurnBytes: 64 << 10,
  shownCharacters: 16 << 10,
};
