import { randomInt } from "node:crypto";
import { closeSync, constants, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import { errorCode } from "@reins/kit/errors";
import type { Database, Statement } from "../store.ts";

const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;

/** Each slot is in a sector of its own, so that a write that is cut off spoils one of them at most. */
const SLOT_BYTES = 512;
const SLOTS = 2;

/** What a mark may hold: plain data of less than 480 characters. */
type MarkContent = Readonly<Record<string, unknown>>;

/**
 * A few numbers in a small file, overwritten in place with every step: what was written survives
 * the death of the process at once and a power cut after {@link sync}. Two slots take turns, each with a checksum.
 */
export class MarkFile {
  readonly #path: string;
  readonly #file: number;
  #turn: number;

  /** Opens the file, or makes it with room for both slots, so that a full disk does not keep it from being written. */
  constructor(path: string) {
    this.#path = path;
    this.#turn = newestIn(path)?.turn ?? 0;
    this.#file = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
    if (this.#turn === 0) writeSync(this.#file, Buffer.alloc(SLOT_BYTES * SLOTS, " "), 0, undefined, 0);
  }

  /** What a file holds; `undefined` where there is none, `damaged` where neither slot can be read. */
  static read(path: string): MarkContent | "damaged" | undefined {
    const text = fileText(path);
    if (text === undefined || text.trim() === "") return undefined;
    return newestIn(path)?.content ?? "damaged";
  }

  /** Replaces what the file holds. */
  write(content: MarkContent): void {
    this.#turn += 1;
    const text = JSON.stringify([this.#turn, content]);
    const slot = `${sumOf(text)} ${text}`.padEnd(SLOT_BYTES - 1);
    if (slot.length >= SLOT_BYTES) throw new RangeError("a mark holds less than 480 characters");
    writeSync(this.#file, `${slot}\n`, (this.#turn % SLOTS) * SLOT_BYTES);
  }

  /** Settles on the disk what was written. */
  sync(): void {
    fdatasyncSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Closes and removes the file. */
  remove(): void {
    this.close();
    rmSync(this.#path, { force: true });
  }
}

function newestIn(path: string): { readonly turn: number; readonly content: MarkContent } | undefined {
  const slots = (fileText(path) ?? "").match(/[^\n]+/g) ?? [];
  return slots
    .flatMap((slot) => slotIn(slot) ?? [])
    .toSorted((one, other) => other.turn - one.turn)
    .at(0);
}

function slotIn(slot: string): { readonly turn: number; readonly content: MarkContent } | undefined {
  const [sum, text] = [slot.slice(0, 8), slot.slice(9).trimEnd()];
  if (sumOf(text) !== sum) return undefined;
  try {
    const [turn, content] = JSON.parse(text);
    return typeof turn === "number" ? { turn, content } : undefined;
  } catch {
    return undefined;
  }
}

function fileText(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function sumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}

/** How far a database had come when its mark was written. */
export interface Mark {
  /** How many transactions there were, and the random id of the writer that made the last of them. */
  readonly count: number;
  readonly token: number;
  /** How many of them the disk had for certain. */
  readonly durable: number;
  /** The start of the machine in which it was written; empty where that is not known. */
  readonly boot: string;
  /** Whether the database was closed in order. */
  readonly closed: boolean;
}

const TABLE =
  "CREATE TABLE IF NOT EXISTS store_mark (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL, token INTEGER NOT NULL) STRICT";
const READ = "SELECT count, token FROM store_mark";

/**
 * Counts the transactions of a database, in it and in a file beside it. A database that has fewer than the file says is
 * an older copy, or its log is damaged or gone.
 */
export class CommitMark {
  readonly #raise: Statement<Pick<Mark, "count">>;
  readonly #file: MarkFile;
  readonly #token = randomInt(2 ** 47);
  readonly #boot = bootId();
  #count: number;
  #durable: number;
  #raised = 0;

  constructor(database: Database, path: string) {
    database.exec(TABLE);
    database.exec("INSERT OR IGNORE INTO store_mark (id, count, token) VALUES (1, 0, 0)");
    this.#raise = database.prepare(
      "UPDATE store_mark SET count = count + 1, token = ? RETURNING count AS count",
    );
    const { count, token } = readMark(database) ?? { count: 0, token: 0 };
    this.#count = count;
    this.#durable = count;
    this.#file = new MarkFile(markPath(path));
    this.#write({ count, token, closed: false });
  }

  /** Counts the transaction that is open. */
  raise(): void {
    this.#raised = this.#raise.get(this.#token)?.count ?? 0;
  }

  /** Notes that the transaction was kept. */
  kept(durable: boolean): void {
    this.#count = this.#raised;
    if (durable) this.#durable = this.#count;
    this.#write({ count: this.#count, token: this.#token, closed: false });
  }

  /** Flushes the mark to disk; called when the store is idle. */
  sync(): void {
    this.#file.sync();
  }

  /** Notes that the database is closed in order. */
  close(database: Database): void {
    try {
      const { count, token } = readMark(database) ?? { count: this.#count, token: this.#token };
      this.#durable = count;
      this.#write({ count, token, closed: true });
      this.#file.sync();
    } finally {
      this.#file.close();
    }
  }

  /** Closes the file as it is. */
  abandon(): void {
    this.#file.close();
  }

  #write({ count, token, closed }: Pick<Mark, "count" | "token" | "closed">): void {
    const mark: Mark = { count, token, durable: this.#durable, boot: this.#boot, closed };
    try {
      this.#file.write({ ...mark });
    } catch {
      // The transaction is committed; an older mark only detects less.
    }
  }
}

/** The mark beside a database. */
export function markBeside(path: string): Mark | "damaged" | undefined {
  const content = MarkFile.read(markPath(path));
  if (content === undefined || content === "damaged") return content;
  return asMark(content) ?? "damaged";
}

/** The mark in a database; `undefined` in one from before there were any. */
export function readMark(database: Database): Pick<Mark, "count" | "token"> | undefined {
  const there = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'store_mark'").get();
  return there ? database.prepare<Pick<Mark, "count" | "token">>(READ).get() : undefined;
}

/** Identifies the boot of the machine; empty where it is not known. */
export function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}

function markPath(path: string): string {
  return `${path}.mark`;
}

function asMark({ count, token, durable, boot, closed }: MarkContent): Mark | undefined {
  if (typeof count !== "number" || typeof token !== "number" || typeof durable !== "number") return undefined;
  return { count, token, durable, boot: String(boot), closed: closed === true };
}
