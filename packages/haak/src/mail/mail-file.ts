import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { LineReader, visibleJson } from "@reins/kit";
import { z } from "zod";
import { SharedFile, SharedFileError } from "./shared-file.ts";

export interface MailLimits {
  /** The largest file that is read, or that sending makes. */
  readonly maxFileBytes: number;
  /** The longest line that is read; a longer one is skipped and reported. */
  readonly maxLineBytes: number;
  /** The longest body that can be sent. */
  readonly maxBodyBytes: number;
  /** The longest subject, sender and receiver that can be sent. */
  readonly maxHeaderBytes: number;
  /** The most messages in one turn; the others stay unread. */
  readonly perTurn: number;
  /** The most bytes of all messages in one turn; one message always fits. */
  readonly perTurnBytes: number;
  /** The most characters of a body in a turn. Only other programs can write longer ones. */
  readonly shownCharacters: number;
}

export const MAIL_LIMITS: MailLimits = {
  maxFileBytes: 32 << 20,
  maxLineBytes: 256 << 10,
  maxBodyBytes: 16 << 10,
  maxHeaderBytes: 1 << 10,
  perTurn: 16,
  perTurnBytes: 64 << 10,
  shownCharacters: 16 << 10,
};

/** A message between agents. Every member is a claim of the program that wrote the line. */
export interface MailboxMessage {
  /** Unique in the mailbox; unchanged when the line is rewritten. */
  readonly id: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly body: string;
  readonly timestamp: string;
  /** Whether its line says that it was read. */
  readonly read: boolean;
}

/** A message to send. */
export interface OutgoingMessage {
  /** The sender as the harness knows it. */
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly body: string;
}

/** One line of `agent-mailbox.jsonl`. Unknown members stay. */
const MessageLine = z.looseObject({
  to: z.union([z.string(), z.array(z.string())]),
  from: z.string().optional(),
  subject: z.string().optional(),
  body: z.string().optional(),
  timestamp: z.union([z.string(), z.number()]).optional(),
  id: z.union([z.string(), z.number()]).optional(),
  read: z.boolean().optional(),
});

/** Parses a line; `undefined` if it is not a message. Lines with the same content get the same id. */
export function parseMessage(text: string): MailboxMessage | undefined {
  const { data } = MessageLine.safeParse(parseJson(text));
  if (!data) return undefined;
  const { from = "", subject = "", body = "", timestamp = "", read = false } = data;
  const to = Array.isArray(data.to) ? data.to : [data.to];
  // Not the line's own id alone: a forged one could hide another message. Nor members such as `read`, which other
  // programs change.
  const content = JSON.stringify([data.id ?? null, from, to, subject, body, timestamp]);
  const id = createHash("sha256").update(content).digest("hex");
  return { id, from, to, subject, body, timestamp: String(timestamp), read };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The line of a message. Throws if the message is empty or too long. */
export function messageLine(
  { from, to, subject, body }: OutgoingMessage,
  { id, timestamp }: { readonly id: string; readonly timestamp: string },
  { maxHeaderBytes, maxBodyBytes }: MailLimits,
): string {
  if (from === "" || to === "")
    throw new SharedFileError("invalid", "a message needs a sender and a receiver");
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

/** The content of a mailbox. */
export interface MailboxContent {
  /** Oldest first. */
  readonly messages: readonly MailboxMessage[];
  /** The first few lines that are not messages, and why. */
  readonly faults: readonly string[];
}

const CHUNK_BYTES = 64 << 10;
const MAX_FAULTS = 20;
const EXCERPT_LENGTH = 80;
const EMPTY: MailboxContent = { messages: [], faults: [] };

/** The file of a mailbox. */
export function mailFile(path: string, limits: MailLimits): SharedFile<MailboxContent> {
  const { maxFileBytes: maxBytes } = limits;
  const isWhole = (line: string) => parseMessage(line) !== undefined;
  return new SharedFile({
    path,
    maxBytes,
    isWhole,
    empty: EMPTY,
    parse: (file) => parseMail(file, path, limits),
  });
}

async function parseMail(
  file: FileHandle,
  path: string,
  { maxLineBytes, maxFileBytes }: MailLimits,
): Promise<MailboxContent> {
  const mail = new MailParser();
  const lines = new LineReader(mail, maxLineBytes);
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let position = 0; ; ) {
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    if (position > maxFileBytes)
      throw new SharedFileError(
        "full",
        `${path} is larger than ${maxFileBytes >> 20} MiB; move its old lines elsewhere`,
      );
    lines.push(chunk.subarray(0, bytesRead));
  }
  // The end of the file without a newline is no fault: another program may be writing it.
  mail.reportsFaults = false;
  lines.end();
  return mail;
}

/** Collects messages and faults line by line. */
class MailParser implements MailboxContent {
  readonly messages: MailboxMessage[] = [];
  readonly faults: string[] = [];
  readonly #copies = new Map<string, number>();
  reportsFaults = true;

  line(untrimmed: string): void {
    const text = untrimmed.trim();
    if (text === "") return;
    const message = parseMessage(text);
    if (message) this.messages.push(this.#withOwnId(message));
    else this.#fault(`a line that is no message: ${visibleJson(text.slice(0, EXCERPT_LENGTH))}`);
  }

  refused(fault: "too_large" | "invalid_utf8"): void {
    this.#fault(fault === "too_large" ? "a line that is too long" : "a line that is not UTF-8");
  }

  #fault(fault: string): void {
    if (this.reportsFaults && this.faults.length < MAX_FAULTS) this.faults.push(fault);
  }

  /** Numbers messages with the same content: they are several messages. */
  #withOwnId(message: MailboxMessage): MailboxMessage {
    const copy = (this.#copies.get(message.id) ?? 0) + 1;
    this.#copies.set(message.id, copy);
    return copy === 1 ? message : { ...message, id: `${message.id}-${copy}` };
  }
}
