import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Database, Statement } from "../database.ts";
import { type MarkContent, MarkFile } from "./mark-file.ts";

/** How far a database had come when its mark was written. */
export interface Mark {
  /** How many transactions there were, and the name of whoever made the last of them. */
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
  readonly #raise: Statement;
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
    this.#raised = countIn(this.#raise.get(this.#token));
  }

  /** Notes that the transaction was kept. */
  kept(durable: boolean): void {
    this.#count = this.#raised;
    if (durable) this.#durable = this.#count;
    this.#write({ count: this.#count, token: this.#token, closed: false });
  }

  /** Has the disk keep the mark, while nobody waits. */
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

  /** Lets go of the file as it is. */
  abandon(): void {
    this.#file.close();
  }

  #write({ count, token, closed }: Pick<Mark, "count" | "token" | "closed">): void {
    const mark: Mark = { count, token, durable: this.#durable, boot: this.#boot, closed };
    try {
      this.#file.write({ ...mark });
    } catch {
      // The transaction stands; an older mark only notices less.
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
  const row = there ? database.prepare(READ).get() : undefined;
  if (typeof row !== "object" || row === null || !("count" in row && "token" in row)) return undefined;
  return { count: Number(row.count), token: Number(row.token) };
}

/** Tells one start of the machine from another. */
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

function countIn(row: unknown): number {
  return typeof row === "object" && row !== null && "count" in row ? Number(row.count) : 0;
}
